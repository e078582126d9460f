create or replace function replay.load_items(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint,
  p_with_events boolean default true
)
  returns setof replay.batch_transaction
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
  v_items int[];
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_request := replay._lock_held_request(p_host_id, p_request_id, p_fence);
  perform replay._check_enabled();
  perform replay._check_no_batch();
  v_items := array(
    select distinct b.item_no
    from replay.barrier b
    where (b.host_id, b.request_id, b.fence) = (p_host_id, p_request_id, p_fence));
  perform replay._check_items(v_request, v_items);

  insert into replay.batch_item (xact_id, ord, projection_id, host_id, transaction_id,
    member_count, was_deferred, failure_id, scopes, decision, follows)
  select pg_current_xact_id(), i.item_no, f.projection_id, f.host_id, f.transaction_id,
    f.member_count, false, f.failure_id, replay._failure_scopes(f.host_id, f.failure_id), 'APPLY', '{}'
  from replay.request_item i
  join replay.failure f on (f.host_id, f.failure_id) = (i.host_id, i.failure_id)
  where (i.host_id, i.request_id) = (p_host_id, p_request_id) and i.item_no = any (v_items);

  return query select b.* from replay._read_batch(pg_current_xact_id(), p_with_events) b;
end;
$$;

comment on function replay.load_items is
'Lock the chunk that was begun, check every fact its plan was approved on, and return its
transactions as the executor gets them. Takes no scope lock: live work never waits for a replay''s
handler. Run the handlers in the same database transaction, then complete_items.

p_with_events: false: without event types and payloads, for run_batch.
Raises RP010 outside READ COMMITTED; RP013 in a database transaction that holds a batch; RP103 when there is no such request; RP208 when a fact has
drifted, the kept bytes among them; RP222 while execution is paused; RP301 when the request is no
longer held.';

revoke all on function replay.load_items from public;
grant execute on function replay.load_items to replay_processor;
