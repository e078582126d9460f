create or replace function replay._lock_executable_request(p_host_id uuid, p_request_id uuid)
  returns replay.request
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  -- Before the intent only short commands hold the row; after it, a chunk may for half an hour.
  if exists (
    select from replay.request r
    where (r.host_id, r.request_id) = (p_host_id, p_request_id)
      and r.status in ('INSTALLING_BARRIER', 'RUNNING'))
  then
    return replay._lock_idle_request(p_host_id, p_request_id);
  end if;
  return replay._lock_request(p_host_id, p_request_id);
end;
$$;

comment on function replay._lock_executable_request is
'Lock a request for its execution: wait for it before the intent, never after.

Raises RP103 when there is no such request; RP212 while somebody else executes it.';

revoke all on function replay._lock_executable_request from public;
