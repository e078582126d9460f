create or replace function replay._handler_calls(p_handlers jsonb)
  returns jsonb
  language sql
  stable
begin atomic
  select coalesce(jsonb_object_agg(t.event_type, t.calls), '{}')
  from (
    select h.event_type,
      jsonb_object_agg(h.event_schema, coalesce('select ' || replay._quote_function(h.function)
        || '($1, convert_from($2, ''UTF8'')::jsonb)', '')) as calls
    from jsonb_to_recordset(p_handlers) h (event_type text, event_schema text, function text)
    group by h.event_type) t;
end;

comment on function replay._handler_calls is
'The statement that calls the handler, by event type and schema: of $1 host_id, $2 payload; empty
where events are ignored. p_handlers: as for run_batch.';

revoke all on function replay._handler_calls from public;
grant execute on function replay._handler_calls to replay_processor;
