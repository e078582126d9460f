create or replace function replay._expire_request(p_request replay.request)
  returns replay.request
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  update replay.request r
  set status = 'EXPIRED', finished_at = coalesce(r.finished_at, replay._now())
  where (r.host_id, r.request_id) = (p_request.host_id, p_request.request_id)
    and replay._has_expired(r.status, r.expires_at)
  returning * into v_request;
  if not found then
    return p_request;
  end if;
  perform replay._audit_request(v_request, 'REQUEST_EXPIRED', p_request.status, null);
  return v_request;
end;
$$;

comment on function replay._expire_request is
'Write down that a plan is past its life, unless somebody else has done so or used it meanwhile.';

revoke all on function replay._expire_request from public;
