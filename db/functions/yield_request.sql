create or replace function replay.yield_request(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint
)
  returns replay.request_status
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_request := replay._lock_held_request(p_host_id, p_request_id, p_fence);
  perform replay._lower_barriers(v_request);
  return replay._end_run(v_request, 'YIELDED', null);
end;
$$;

comment on function replay.yield_request is
'Stop executing for now: settle, end the lease, keep the state. Anybody may claim it again at once.

Raises RP010 outside READ COMMITTED; RP103 when there is no such request; RP301 when it is no longer
held.';

revoke all on function replay.yield_request from public;
grant execute on function replay.yield_request to replay_processor;
