create or replace function replay._request_status(p_request replay.request)
  returns replay.request_status
  language sql
  volatile
begin atomic
  select s.*
  from replay.request_status s
  where s.host_id = p_request.host_id and s.request_id = p_request.request_id;
end;

comment on function replay._request_status is
'A request as everybody reads it, as of now.';

revoke all on function replay._request_status from public;
