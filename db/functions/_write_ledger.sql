create or replace function replay._write_ledger(p_xact_id xid8)
  returns void
  language sql
  volatile
begin atomic
  insert into replay.ledger (host_id, projection_id, transaction_id, fingerprint, applied_at)
  select b.host_id, b.projection_id, b.transaction_id,
    replay._transaction_fingerprint(b.host_id, b.projection_id, b.transaction_id), replay._now()
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'APPLY'
    and b.scopes[1].scope_type = 'TRANSACTION';
end;

comment on function replay._write_ledger is
'Write down what a batch applied of transactions without an ordered scope.';

revoke all on function replay._write_ledger from public;
