create or replace function replay._claimable_request(
  p_host_id uuid,
  p_request_id uuid,
  p_plan_hash bytea
)
  returns replay.request
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_request replay.request;
  v_busy boolean := false;
begin
  begin
    v_request := replay._lock_request(p_host_id, p_request_id, p_nowait => true);
  exception when lock_not_available then
    v_busy := true;
    select r.* into v_request
    from replay.request r
    where (r.host_id, r.request_id) = (p_host_id, p_request_id);
  end;

  if v_request.plan_hash is distinct from p_plan_hash then
    raise exception 'the hash names another plan than request % holds', p_request_id
      using errcode = 'RP211', detail = jsonb_build_object('request_id', p_request_id),
            hint = 'Read the request again and compare its plan hash.';
  end if;
  if v_request.status not in ('INSTALLING_BARRIER', 'RUNNING') then
    raise exception 'request % is %', p_request_id, v_request.status
      using errcode = 'RP207', detail = jsonb_build_object('status', v_request.status),
            hint = 'Commit the intent first: execute_request on an APPROVED request.';
  end if;
  if v_busy or (v_request.lease_until > replay._now()
    and (v_request.holder_pooled or replay._holder_is_alive(p_host_id, p_request_id)))
  then
    raise exception 'request % is being executed', p_request_id
      using errcode = 'RP212',
            detail = jsonb_build_object('request_id', p_request_id, 'lease_until', v_request.lease_until),
            hint = 'Wait for it to end, at the latest until the lease ends, and look at the request.';
  end if;
  return v_request;
end;
$$;

comment on function replay._claimable_request is
'Lock a request that may be claimed now, without waiting, and return it.

Raises RP103, RP207, RP211 or RP212 as claim_request says.';

revoke all on function replay._claimable_request from public;
