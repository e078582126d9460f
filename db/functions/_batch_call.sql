create or replace function replay._batch_call(p_handlers jsonb)
  returns text
  language sql
  stable
begin atomic
  -- The subquery is sorted before any handler is called. An event without one: division by zero.
  select 'select count(case when false then true' || coalesce(string_agg(
      format(' when e.event_type = %L and e.event_schema = %L then ', h.event_type, h.event_schema)
      || coalesce(replay._quote_function(h.function)
        || '(e.host_id, convert_from(e.payload, ''UTF8'')::jsonb) is null', 'true'), ''), '')
    || ' else 1 / (e.ord - e.ord) = 1 end) from'
    || ' (select b.* from replay.batch_event b order by b.ord, b.ordinal) e'
  from jsonb_to_recordset(p_handlers) h (event_type text, event_schema text, function text);
end;

comment on function replay._batch_call is
'The statement that calls the handler of each event of the batch in hand, in order, and fails when
one has none. p_handlers: as for run_batch.';

revoke all on function replay._batch_call from public;
grant execute on function replay._batch_call to replay_processor;
