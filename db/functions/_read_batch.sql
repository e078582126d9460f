create or replace function replay._read_batch(p_xact_id xid8, p_with_events boolean)
  returns setof replay.batch_transaction
  language plpgsql
  stable
  set search_path = ''
as $$
begin
  return query
  select b.xact_id, b.ord, b.host_id, b.transaction_id, b.decision, b.was_deferred, b.follows,
    e.event_types, e.event_schemas, e.payloads
  from replay.batch_item b
  left join lateral (
    select array_agg(x.event_type order by x.ordinal) as event_types,
      array_agg(x.event_schema order by x.ordinal) as event_schemas,
      array_agg(x.payload order by x.ordinal) as payloads
    from (
      (
        select o.ordinal, o.event_type, o.event_schema, o.payload
        from replay.event o
        where p_with_events and b.failure_id is null
          and (o.host_id, o.transaction_id) = (b.host_id, b.transaction_id)
        order by o.ordinal
      )
      union all
      select m.ordinal, m.event_type, m.event_schema, m.payload
      from replay.failure_member m
      where p_with_events and (m.host_id, m.failure_id) = (b.host_id, b.failure_id)
    ) x
  ) e on b.decision = 'APPLY'
  where b.xact_id = p_xact_id
  order by b.ord;
end;
$$;

comment on function replay._read_batch is
'The batch or chunk in hand as the executor gets it; events only of those to apply.';

revoke all on function replay._read_batch from public;
