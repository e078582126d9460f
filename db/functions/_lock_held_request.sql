create or replace function replay._lock_held_request(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint
)
  returns replay.request
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_request replay.request := replay._lock_request(p_host_id, p_request_id);
begin
  if v_request.fence is distinct from p_fence
    or v_request.status not in ('INSTALLING_BARRIER', 'RUNNING')
    or (v_request.lease_until > replay._now()) is not true
  then
    raise exception 'request % is no longer held with fence %', p_request_id, p_fence
      using errcode = 'RP301',
            detail = jsonb_build_object('fence', v_request.fence, 'lease_until',
              v_request.lease_until, 'status', v_request.status),
            hint = 'Stop; nothing was written. Look at the request before retrying it.';
  end if;
  return v_request;
end;
$$;

comment on function replay._lock_held_request is
'Lock a request for its holder and return it. Every write of a holder starts here.

Raises RP103 when there is no such request; RP301 when the fence was raised since, the lease has
run out or the request has ended.';

revoke all on function replay._lock_held_request from public;
