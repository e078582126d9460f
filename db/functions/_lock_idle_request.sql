create or replace function replay._lock_idle_request(p_host_id uuid, p_request_id uuid)
  returns replay.request
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  begin
    v_request := replay._lock_request(p_host_id, p_request_id, p_nowait => true);
  exception when lock_not_available then
    perform replay._refuse_held_request(p_request_id, (
      select r.lease_until
      from replay.request r
      where (r.host_id, r.request_id) = (p_host_id, p_request_id)));
  end;

  if replay._is_held(p_host_id, p_request_id, v_request.lease_until, v_request.holder_pooled) then
    perform replay._refuse_held_request(p_request_id, v_request.lease_until);
  end if;
  return v_request;
end;
$$;

comment on function replay._lock_idle_request is
'Lock a request that nobody else executes, without waiting: a chunk in hand may hold it for long.

Raises RP103 when the host has no such request; RP212 while somebody else holds it.';

revoke all on function replay._lock_idle_request from public;
