create or replace function replay._call_statement(p_handlers jsonb)
  returns text
  language sql
  stable
begin atomic
  -- The first branch keeps it a CASE when there are no others.
  select 'select e.ord, e.is_last, case when false then true' || coalesce(string_agg(
      format(' when e.event_type = %L and e.event_schema = %L then ', h.event_type, h.event_schema)
      || coalesce((
        select string_agg(quote_ident(n.name), '.' order by n.place)
        from string_to_table(h.function, '.') with ordinality n (name, place))
        || '(e.host_id, convert_from(e.payload, ''UTF8'')::jsonb) is null', 'true'), ''), '')
    || ' end as was_called from replay.batch_event e'
    || ' where e.ord >= $1 and e.ord < $2 and e.ord <> all ($3) order by e.ord, e.ordinal'
  from jsonb_to_recordset(p_handlers) h (event_type text, event_schema text, function text);
end;

comment on function replay._call_statement is
'The statement that calls the handler of each event of the batch in hand, in order, as it is
fetched. $1, $2: only items from and before these; $3: none of these. No handler: was_called is
null. p_handlers: as for run_batch.';

revoke all on function replay._call_statement from public;
grant execute on function replay._call_statement to replay_processor;
