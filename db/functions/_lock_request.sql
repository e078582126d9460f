create or replace function replay._lock_request(
  p_host_id uuid,
  p_request_id uuid,
  p_nowait boolean default false
)
  returns replay.request
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  if p_nowait then
    select r.* into v_request
    from replay.request r
    where (r.host_id, r.request_id) = (p_host_id, p_request_id)
    for no key update nowait;
  else
    select r.* into v_request
    from replay.request r
    where (r.host_id, r.request_id) = (p_host_id, p_request_id)
    for no key update;
  end if;

  if v_request.request_id is null then
    perform replay._refuse_unknown_request(p_host_id, p_request_id);
  end if;
  return v_request;
end;
$$;

comment on function replay._lock_request is
'Lock a request for a change of its life and return it as it is after the wait.

p_nowait: answer lock_not_available (55P03) at once while somebody else holds it.
Raises RP103 when the host has no such request.';

revoke all on function replay._lock_request from public;
