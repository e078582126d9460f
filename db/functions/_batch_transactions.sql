create or replace function replay._batch_transactions(p_xact_id xid8)
  returns setof replay.claimed_transaction
  language sql
  stable
begin atomic
  select b.xact_id, b.ord, b.host_id, b.transaction_id, b.decision, b.was_deferred, b.follows,
    e.event_types, e.event_schemas, e.payloads, coalesce(t.crash_count, 0)
  from replay.batch_item b
  left join replay.trial t
    on (t.host_id, t.projection_id, t.transaction_id)
      = (b.host_id, b.projection_id, b.transaction_id)
  left join lateral (
    select array_agg(x.event_type order by x.ordinal) as event_types,
      array_agg(x.event_schema order by x.ordinal) as event_schemas,
      array_agg(x.payload order by x.ordinal) as payloads
    from replay.event x
    where (x.host_id, x.transaction_id) = (b.host_id, b.transaction_id)
  ) e on b.decision = 'APPLY'
  where b.xact_id = p_xact_id
  order by b.ord;
end;

comment on function replay._batch_transactions is
'The batch in hand as the executor gets it; events only of those to apply.';

revoke all on function replay._batch_transactions from public;
