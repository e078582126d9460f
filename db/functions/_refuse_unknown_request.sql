create or replace function replay._refuse_unknown_request(p_host_id uuid, p_request_id uuid)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  raise exception 'host % has no replay request %', p_host_id, p_request_id
    using errcode = 'RP103',
          detail = jsonb_build_object('host_id', p_host_id, 'request_id', p_request_id),
          hint = 'list_requests shows those there are.';
end;
$$;

comment on function replay._refuse_unknown_request is
'Say that there is no such request.

Raises RP103, always.';

revoke all on function replay._refuse_unknown_request from public;
