create or replace function replay.cancel_request(
  p_host_id uuid,
  p_request_id uuid,
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
  v_before replay.request;
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_before := replay._lock_idle_request(p_host_id, p_request_id);
  if replay._has_expired(v_before.status, v_before.expires_at) then
    return replay._request_status(replay._expire_request(v_before));
  end if;
  perform replay._check_request_state(v_before, '{READY,AWAITING_APPROVAL,APPROVED}');

  update replay.request r
  set status = 'CANCELLED', cancelled_by = v_actor, cancellation_reason = v_reason,
    finished_at = replay._now()
  where (r.host_id, r.request_id) = (p_host_id, p_request_id)
  returning * into v_request;
  perform replay._audit_request(v_request, 'REQUEST_CANCELLED', v_before.status, v_reason);
  return replay._request_status(v_request);
end;
$$;

comment on function replay.cancel_request is
'Withdraw a request that was not executed and return it. One whose plan has expired meanwhile
becomes, and is returned as, EXPIRED.

Raises RP001 when the reason is missing; RP010 outside READ COMMITTED; RP103 when there is no such
request; RP207 when its execution was asked for or it has ended; RP209 when it is EXPIRED already;
RP212 when somebody holds it at this moment.';

revoke all on function replay.cancel_request from public;
grant execute on function replay.cancel_request to replay_operator, replay_approver;
