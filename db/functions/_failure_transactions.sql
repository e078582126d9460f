create or replace function replay._failure_transactions(p_xact_id xid8)
  returns setof replay.batch_transaction
  language sql
  stable
begin atomic
  select b.xact_id, b.ord, b.host_id, b.transaction_id, b.decision, b.was_deferred, b.follows,
    array_agg(m.event_type order by m.ordinal), array_agg(m.event_schema order by m.ordinal),
    array_agg(m.payload order by m.ordinal)
  from replay.batch_item b
  join replay.failure_member m on (m.host_id, m.failure_id) = (b.host_id, b.failure_id)
  where b.xact_id = p_xact_id
  group by b.xact_id, b.ord
  order by b.ord;
end;

comment on function replay._failure_transactions is
'The chunk in hand as the executor gets it, from the bytes kept at capture.';

revoke all on function replay._failure_transactions from public;
