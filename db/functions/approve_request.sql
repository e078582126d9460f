create or replace function replay.approve_request(
  p_host_id uuid,
  p_request_id uuid,
  p_plan_hash bytea,
  p_reason text
)
  returns replay.request_status
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_actor text := replay._actor();
  v_reason text := replay._reason(p_reason);
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_request := replay._lock_request(p_host_id, p_request_id);
  perform replay._check_request_state(v_request, '{AWAITING_APPROVAL}');
  if v_request.requested_by = v_actor then
    raise exception '"%" asked for request % and cannot approve it', v_actor, p_request_id
      using errcode = 'RP210',
            detail = jsonb_build_object('request_id', p_request_id, 'requested_by', v_actor),
            hint = 'Ask a second person with the role replay_approver.';
  end if;
  perform replay._check_plan_hash(v_request, p_plan_hash);
  perform replay._check_plan(v_request);

  update replay.request r
  set status = 'APPROVED', approved_by = v_actor, approved_at = replay._now(),
    approval_reason = v_reason
  where (r.host_id, r.request_id) = (p_host_id, p_request_id)
  returning * into v_request;
  perform replay._audit_request(v_request, 'REQUEST_APPROVED', 'AWAITING_APPROVAL', v_reason);
  return replay._request_status(v_request);
end;
$$;

comment on function replay.approve_request is
'Approve exactly the plan of this hash, as a second person, and return the request.

p_plan_hash: what get_request showed. p_reason: why, at most 4000 bytes.
Raises RP001 when the reason is missing; RP010 outside READ COMMITTED; RP103 when there is no such
request; RP207 when it is not AWAITING_APPROVAL (VALIDATE_ONLY never is); RP208 when a fact of the
plan has changed; RP209 when the plan has expired; RP210 when the actor asked for it; RP211 when the
hash names another plan.';

revoke all on function replay.approve_request from public;
grant execute on function replay.approve_request to replay_approver;
