create or replace function replay._release(p_request replay.request, p_reason text)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  perform replay._abandon_run(p_request);
  perform replay._lower_barriers(p_request);

  update replay.request r
  set fence = r.fence + 1, lease_until = null, status = 'FAILED', failure_code = 'RELEASED',
    finished_at = replay._now()
  where (r.host_id, r.request_id) = (p_request.host_id, p_request.request_id)
  returning * into v_request;
  perform replay._audit_request(v_request, 'REQUEST_RELEASED', p_request.status, p_reason);
end;
$$;

comment on function replay._release is
'Settle what a dead holder left and end its request as FAILED with RELEASED, in one database
transaction: a stalled holder that wakes finds another fence.';

revoke all on function replay._release from public;
