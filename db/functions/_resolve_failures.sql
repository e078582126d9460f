create or replace function replay._resolve_failures(p_request replay.request, p_xact_id xid8)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  update replay.failure f
  set status = 'RESOLVED', resolution_code = 'RESOLVED_BY_EXACT_REPLAY',
    resolved_at = replay._now(), resolved_by_request_id = p_request.request_id
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'APPLY'
    and (f.host_id, f.failure_id) = (b.host_id, b.failure_id);

  update replay.failure_scope s
  set is_open = false
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'APPLY'
    and (s.host_id, s.failure_id) = (b.host_id, b.failure_id);

  perform replay._audit(b.host_id, 'FAILURE_RESOLVED', p_projection_id => b.projection_id,
    p_request_id => p_request.request_id, p_failure_id => b.failure_id,
    p_transaction_id => b.transaction_id)
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'APPLY';
end;
$$;

comment on function replay._resolve_failures is
'Resolve the failures of the items that a chunk applied, and open their scopes again.';

revoke all on function replay._resolve_failures from public;
