create or replace function replay._waive(p_action replay.pending_action, p_failure_ids uuid[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  update replay.failure f
  set status = 'WAIVED', resolution_code = 'WAIVED', resolved_at = replay._now()
  where f.host_id = p_action.host_id and f.failure_id = any (p_failure_ids);

  update replay.failure_scope s
  set is_open = false
  where s.host_id = p_action.host_id and s.failure_id = any (p_failure_ids);

  perform replay._audit(f.host_id, 'FAILURE_WAIVED', p_action.decision_reason,
    p_projection_id => f.projection_id, p_failure_id => f.failure_id,
    p_transaction_id => f.transaction_id,
    p_detail => jsonb_build_object('action_id', p_action.action_id))
  from replay.failure f
  where f.host_id = p_action.host_id and f.failure_id = any (p_failure_ids);
end;
$$;

comment on function replay._waive is
'Waive locked failures, as the action says that two people have decided. No progress moves.';

revoke all on function replay._waive from public;
