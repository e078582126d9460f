create or replace function replay._run_in_blocks(
  p_handlers jsonb, p_failures jsonb, p_first_only boolean
)
  returns replay.batch_outcome
  language plpgsql
  volatile
  -- As its caller, who may execute the handlers.
as $$
declare
  -- 500 transactions in 56 blocks: beyond 64 subtransactions every other snapshot pays for them.
  c_block constant int := 9;
  v_calls jsonb := replay._handler_calls(p_handlers);
  v_last int := (select b.ord from replay.batch_event b order by b.ord desc limit 1);
  v_outcome replay.batch_outcome := row(p_failures, '{}'::int[], null::int);
  v_out int[] := array(select (f.value -> 'ord')::int from jsonb_array_elements(p_failures) f);
  v_first int := 1;
  v_event replay.batch_event;
  v_error replay.error_report;
begin
  while v_first <= v_last loop
    -- A block: one subtransaction. What follows behind it does not undo it.
    begin
      for v_event in
        select b.*
        from replay.batch_event b
        where b.ord between v_first and least(v_first + c_block - 1, v_last)
        order by b.ord, b.ordinal
      loop
        if v_event.ord <> all (v_out) and v_event.follows && v_out then
          v_out := v_out || v_event.ord;
          v_outcome.skipped := v_outcome.skipped || v_event.ord;
        end if;
        continue when v_event.ord = any (v_out);
        -- Null, which fails, without a handler; empty, which does nothing, when it is ignored.
        execute v_calls -> v_event.event_type ->> v_event.event_schema
          using v_event.host_id, v_event.payload;
      end loop;
      v_first := v_first + c_block;
    exception when others then
      get stacked diagnostics v_error.error_code = returned_sqlstate,
        v_error.error_constraint = constraint_name, v_error.error_table = table_name,
        v_error.error_column = column_name;
      if replay._is_fault_of_batch(v_error.error_code) then
        raise;
      end if;
      v_out := v_out || v_event.ord;
      if p_first_only then
        v_outcome := row('[]'::jsonb, '{}'::int[], v_event.ord);
        v_last := v_event.ord - 1;
      end if;
      v_outcome.failures := v_outcome.failures
        || jsonb_strip_nulls(to_jsonb(replay._error_report(p_handlers, v_event, v_error)));
    end;
  end loop;
  return v_outcome;
end;
$$;

comment on function replay._run_in_blocks is
'Call the handlers of the batch in hand in small blocks, each a subtransaction that is begun again
without what failed in it and what follows that. Arguments and result: as of run_batch.';

revoke all on function replay._run_in_blocks from public;
grant execute on function replay._run_in_blocks to replay_processor;
