create or replace function replay._end_run(
  p_request replay.request,
  p_run_status text,
  p_failure_code text
)
  returns replay.request_status
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  update replay.run r
  set status = p_run_status, ended_at = replay._now()
  where (r.host_id, r.request_id, r.fence)
    = (p_request.host_id, p_request.request_id, p_request.fence);

  update replay.request r
  set lease_until = null,
    status = case when p_run_status = 'YIELDED' then r.status else p_run_status end,
    failure_code = p_failure_code,
    finished_at = case when p_run_status = 'YIELDED' then null else replay._now() end
  where (r.host_id, r.request_id) = (p_request.host_id, p_request.request_id)
  returning * into v_request;

  perform replay._audit(p_request.host_id, 'RUN_' || p_run_status,
    p_projection_id => p_request.projection_id, p_request_id => p_request.request_id,
    p_detail => jsonb_build_object('fence', p_request.fence, 'failure_code', p_failure_code));
  -- Not taken by a pooled holder; unlocking would only draw a warning.
  if not p_request.holder_pooled then
    perform pg_advisory_unlock(replay._liveness_key(p_request.host_id, p_request.request_id));
  end if;
  return replay._request_status(v_request);
end;
$$;

comment on function replay._end_run is
'End the current run and its lease; SUCCEEDED and FAILED end the request too, YIELDED keeps it.';

revoke all on function replay._end_run from public;
