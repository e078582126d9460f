create or replace function replay._observe(p_xact_id xid8)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  insert into replay.observation (host_id, projection_id, transaction_id, lane, source_offset,
    delivery_fingerprint, observed_at)
  select b.host_id, b.projection_id, b.transaction_id, b.lane, b.source_offset,
    replay._delivery_fingerprint(
      replay._transaction_fingerprint(b.host_id, b.projection_id, b.transaction_id),
      'outbox', b.lane, b.source_offset),
    replay._now()
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'OBSERVED'
  on conflict do nothing;

  insert into replay.evidence (host_id, projection_id, kind, transaction_id,
    other_transaction_id, lane, source_offset, digests, recorded_at)
  select b.host_id, b.projection_id,
    case when (b.scopes[1]).scope_type = 'TRANSACTION' then 'BEFORE_LEDGER' else 'CONFLICT' end,
    b.transaction_id, b.other_transaction_id,
    b.lane, b.source_offset,
    array(
      select e.digest from replay.event e
      where (e.host_id, e.transaction_id) = (b.host_id, b.transaction_id)
      order by e.ordinal),
    replay._now()
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'CONFLICT';
end;
$$;

comment on function replay._observe is
'Record the observations and the evidence of a batch.';

revoke all on function replay._observe from public;
