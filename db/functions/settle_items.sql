create or replace function replay.settle_items(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint,
  p_failure_code text default null
)
  returns replay.request_status
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- As in claim_batch.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_mergejoin = off
  set enable_bitmapscan = off
as $$
declare
  v_request replay.request;
  v_code text;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_request := replay._lock_held_request(p_host_id, p_request_id, p_fence);
  perform replay._lower_barriers(v_request);

  v_code := coalesce(p_failure_code, (
    select 'PROJECTION_FAILED'
    from replay.request_item i
    where (i.host_id, i.request_id) = (p_host_id, p_request_id) and i.status = 'FAILED'
    limit 1));
  if v_code is not null then
    return replay._end_run(v_request, 'FAILED', v_code);
  end if;
  if not exists (
    select from replay.request_item i
    where (i.host_id, i.request_id) = (p_host_id, p_request_id) and i.status = 'PENDING')
  then
    return replay._end_run(v_request, 'SUCCEEDED', null);
  end if;
  return replay._request_status(v_request);
end;
$$;

comment on function replay.settle_items is
'End a chunk: under its scope locks, wake what is next now and lower its barriers. The request ends
with it when an item has failed (FAILED) or none is left (SUCCEEDED). Without a chunk it lowers
what a dead holder left.

p_failure_code: why the whole request fails, STALE_PLAN for one; null: it does not.
Raises RP010 outside READ COMMITTED; RP103 when there is no such request; RP301 when it is no longer
held.';

revoke all on function replay.settle_items from public;
grant execute on function replay.settle_items to replay_processor;
