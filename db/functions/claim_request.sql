create or replace function replay.claim_request(
  p_host_id uuid,
  p_request_id uuid,
  p_plan_hash bytea,
  p_budget interval default '1800 seconds',
  p_pooled boolean default false
)
  returns replay.request_status
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_actor text := replay._actor();
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  if (p_budget between '1 second' and '1 day') is not true then
    raise exception 'a budget of % is out of bounds', p_budget
      using errcode = 'RP001', detail = jsonb_build_object('budget', p_budget),
            hint = 'Give between 1 second and 1 day.';
  end if;
  perform replay._check_enabled();
  v_request := replay._lock_idle_request(p_host_id, p_request_id);
  perform replay._check_request_state(v_request, '{INSTALLING_BARRIER,RUNNING}');
  perform replay._check_plan_hash(v_request, p_plan_hash);

  perform replay._abandon_run(v_request);
  update replay.request r
  set fence = r.fence + 1, lease_until = replay._now() + p_budget,
    -- Without the liveness lock, be it a stalled former holder's still, only the lease tells.
    holder_pooled = p_pooled
      or not replay._hold_liveness(p_host_id, p_request_id)
  where (r.host_id, r.request_id) = (p_host_id, p_request_id)
  returning * into v_request;

  insert into replay.run (host_id, request_id, fence, status, claimed_by, started_at)
  values (p_host_id, p_request_id, v_request.fence, 'RUNNING', v_actor, replay._now());
  perform replay._audit(p_host_id, 'REQUEST_CLAIMED', p_projection_id => v_request.projection_id,
    p_request_id => p_request_id, p_detail => jsonb_build_object('fence', v_request.fence));
  return replay._request_status(v_request);
end;
$$;

comment on function replay.claim_request is
'Claim exactly this request for execution by the caller: a new fence, a lease of p_budget, and what
a dead holder left becomes ABANDONED. Its committed intent is required, see execute_request.

p_budget: 1 second to 1 day. p_pooled: the connection goes through a transaction pooler, so no
session-level liveness lock is taken and a crash is seen only when the lease ends.
Raises RP001 when the budget is out of bounds; RP010 outside READ COMMITTED; RP103 when there is no
such request; RP207 when it has no committed intent or has ended; RP209 when its plan has expired;
RP211 when the hash names another
plan; RP212 while somebody else holds it, with the end of the lease; RP222 while execution is paused.';

revoke all on function replay.claim_request from public;
grant execute on function replay.claim_request to replay_processor;
