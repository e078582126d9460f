create or replace function replay._check_request(p_host_id uuid, p_request_id uuid)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
begin
  if not exists (
    select from replay.request r
    where (r.host_id, r.request_id) = (p_host_id, p_request_id))
  then
    perform replay._refuse_unknown_request(p_host_id, p_request_id);
  end if;
end;
$$;

comment on function replay._check_request is
'Check that the host has such a request.

Raises RP103 when it has not.';

revoke all on function replay._check_request from public;
