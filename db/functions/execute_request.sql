create or replace function replay.execute_request(
  p_host_id uuid,
  p_request_id uuid,
  p_plan_hash bytea,
  p_reason text
)
  returns replay.request_status
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_actor text := replay._actor();
  v_reason text := replay._reason(p_reason);
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_request := replay._lock_executable_request(p_host_id, p_request_id);
  perform replay._check_request_state(v_request, '{APPROVED,INSTALLING_BARRIER,RUNNING}');
  perform replay._check_plan_hash(v_request, p_plan_hash);
  if v_request.status <> 'APPROVED' then
    perform replay._audit_request(v_request, 'EXECUTION_RETRIED', v_request.status, v_reason);
    return replay._request_status(v_request);
  end if;
  perform replay._check_enabled();
  perform replay._check_plan(v_request);

  update replay.request r
  set status = 'INSTALLING_BARRIER', executed_by = v_actor, executed_at = replay._now(),
    execution_reason = v_reason
  where (r.host_id, r.request_id) = (p_host_id, p_request_id)
  returning * into v_request;
  perform replay._audit_request(v_request, 'EXECUTION_REQUESTED', 'APPROVED', v_reason);
  return replay._request_status(v_request);
end;
$$;

comment on function replay.execute_request is
'Record the intent to execute an approved plan and return the request. Commit it; the caller''s own
process then claims and runs exactly this request and hash. A committed intent never expires.

Called again while the execution is unfinished and nobody holds it, it is a retry: audited, and the
first person and reason stay.
Raises RP001 when the reason is missing; RP010 outside READ COMMITTED; RP103 when there is no such
request; RP207 when it is not APPROVED or has ended; RP208 when a fact of the plan has changed;
RP209 when the plan has expired; RP211 when the hash names another plan; RP212 while somebody else
executes it; RP222 while execution is paused.';

revoke all on function replay.execute_request from public;
grant execute on function replay.execute_request to replay_operator;
