create or replace function replay._check_host(p_host_id uuid)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
begin
  perform replay._own_hosts(p_host_id);
end;
$$;

comment on function replay._check_host is
'Refuse a caller who is no member of the host, known or not.

Raises RP401.';

revoke all on function replay._check_host from public;
