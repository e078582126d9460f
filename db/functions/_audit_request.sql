create or replace function replay._audit_request(
  p_request replay.request,
  p_action text,
  p_from_status text,
  p_reason text
)
  returns void
  language sql
  volatile
begin atomic
  select replay._audit(p_request.host_id, p_action, p_reason,
    p_projection_id => p_request.projection_id, p_request_id => p_request.request_id,
    p_detail => jsonb_build_object('from', p_from_status, 'to', p_request.status, 'plan_hash',
      encode(p_request.plan_hash, 'hex')));
end;

comment on function replay._audit_request is
'Record what was done to a request: from which state, to which, naming the plan.';

revoke all on function replay._audit_request from public;
