create or replace function replay.run_batch(
  p_handlers jsonb,
  p_failures jsonb default '[]',
  p_first_only boolean default false
)
  returns replay.batch_outcome
  language plpgsql
  volatile
  -- Without a search_path of its own and as its caller: so are the handlers that it calls.
as $$
declare
  c_all constant int := 2147483647;
  -- 500 transactions in 56 blocks: beyond 64 subtransactions every other snapshot pays for them.
  c_block constant int := 9;
  v_block int := c_all;
  v_outcome replay.batch_outcome := row(p_failures, '{}', null);
  v_out int[] := replay._add_followers('{}', array(
    select (f.report -> 'ord')::int from jsonb_array_elements(p_failures) f (report)));
  v_calls refcursor;
  v_ord int;
  v_is_last boolean;
  v_was_called boolean;
  v_first int;
  v_count int;
  v_kept int := 0;
  v_left int;
  v_error replay.error_report;
begin
  <<openings>>
  loop
    v_first := v_kept + 1;
    v_count := 0;
    v_error := null;
    open v_calls for execute replay._call_statement(p_handlers)
      using v_first, coalesce(v_outcome.upto, c_all), v_out;
    while v_error.error_code is null loop
      -- One subtransaction. What follows behind it does not undo it.
      begin
        v_left := v_block;
        while v_left > 0 loop
          fetch v_calls into v_ord, v_is_last, v_was_called;
          exit when not found;
          if v_was_called is null then
            v_error.error_text := 'no handler';
            raise exception 'an event has no handler'
              using errcode = 'RP013', detail = '{}', hint = 'Declare its type in the application.';
          end if;
          v_count := v_count + 1;
          v_left := v_left - v_is_last::int;
        end loop;
      exception when others then
        get stacked diagnostics v_error.error_code = returned_sqlstate,
          v_error.error_constraint = constraint_name, v_error.error_table = table_name,
          v_error.error_column = column_name;
      end;
      exit openings when v_error.error_code is null and v_ord is null;
      if v_error.error_code is null then
        v_kept := v_ord;
      end if;
    end loop;

    close v_calls;
    v_block := c_block;
    v_error := replay._blame_event(p_handlers, v_error, v_first, v_count, v_out);
    if p_first_only then
      v_outcome.failures := '[]';
      v_outcome.upto := v_error.ord;
    else
      v_out := replay._add_followers(v_out, array[v_error.ord]);
    end if;
    v_outcome.failures := v_outcome.failures || jsonb_strip_nulls(to_jsonb(v_error));
  end loop;

  v_outcome.skipped := array(
    select o.ord
    from unnest(v_out) o (ord)
    where o.ord not in (
      select (f.report -> 'ord')::int
      from jsonb_array_elements(v_outcome.failures) f (report)));
  return v_outcome;
end;
$$;

comment on function replay.run_batch is
'Run the handlers of the batch or chunk that this database transaction holds, when all of them are
functions of the database: all at once, and when one fails again in small blocks, each with a
subtransaction, so that what fails stands alone. Returns what complete_batch and complete_items are
to be given. Handlers run as the caller, in its search_path.

p_handlers: an array of {"event_type", "event_schema", "function"}. The function is called with
(host_id uuid, event jsonb); its name is split at dots and not folded; null: such events are
ignored. An event without an entry fails (RP013 inside, reported as HANDLER_MISSING). p_failures:
reports of items that are not to be run. p_first_only: stop at the first failure, as a replay does.
Raises whatever a handler raises that PL/pgSQL cannot catch: a statement timeout, a failed
assertion; and what a missing function raises. Load the events then (load_batch) and call them one
by one.';

revoke all on function replay.run_batch from public;
grant execute on function replay.run_batch to replay_processor;
