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
begin
  if p_failures = '[]' and replay._run_at_once(p_handlers) then
    return row(p_failures, '{}'::int[], null::int);
  end if;
  return replay._run_in_blocks(p_handlers, p_failures, p_first_only);
end;
$$;

comment on function replay.run_batch is
'Run the handlers of the batch or chunk that this database transaction holds, when all of them are
functions of the database: all at once, and when one fails again in small blocks, each with a
subtransaction, so that what fails stands alone. Returns what complete_batch and complete_items are
to be given. Handlers run as the caller, in its search_path.

p_handlers: an array of {"event_type", "event_schema", "function"}. The function is called with
(host_id uuid, event jsonb); its name is split at dots and not folded; null: such events are
ignored. An event without an entry fails as HANDLER_MISSING. p_failures: reports of items that are
not to be run. p_first_only: stop at the first failure, as a replay does.
Raises what a handler raises that PL/pgSQL cannot catch, a statement timeout or a failed assertion:
load the events then (load_batch) and call the handlers one by one. Raises what says nothing about
the transaction that met it, a deadlock or a full disk: roll back all.';

revoke all on function replay.run_batch from public;
grant execute on function replay.run_batch to replay_processor;
