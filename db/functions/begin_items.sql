create or replace function replay.begin_items(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint,
  p_limit int default 500
)
  returns int
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
  v_items := replay._next_items(v_request, p_limit);
  if v_items = '{}' then
    return 0;
  end if;

  perform replay._try_scope_locks(v_request, v_items);
  insert into replay.barrier (host_id, projection_id, scope_type, scope_key, request_id, item_no,
    fence, raised_at)
  select s.host_id, s.projection_id, s.scope_type, s.scope_key, p_request_id, i.item_no, p_fence,
    replay._now()
  from replay.request_item i
  join replay.failure_scope s on (s.host_id, s.failure_id) = (i.host_id, i.failure_id)
  where (i.host_id, i.request_id) = (p_host_id, p_request_id) and i.item_no = any (v_items);

  if v_request.status = 'INSTALLING_BARRIER' then
    update replay.request r
    set status = 'RUNNING'
    where (r.host_id, r.request_id) = (p_host_id, p_request_id)
    returning * into v_request;
    perform replay._audit_request(v_request, 'REQUEST_RUNNING', 'INSTALLING_BARRIER', null);
  end if;
  perform replay._begin_chunk(v_request, v_items);
  return cardinality(v_items);
end;
$$;

comment on function replay.begin_items is
'Raise the barriers of the next chunk of items and return how many items it has; 0: none is left.
Commit, so that live work sees them; then load_items, run, complete_items and settle_items.

p_limit: items at most; a chunk also ends at 500 scopes.
Raises RP010 outside READ COMMITTED; RP103 when there is no such request; RP207 when a chunk is
begun and not settled; RP214 when live work or another replay holds one of the scopes: roll back and
begin again; RP222 while execution is paused; RP301 when the request is no longer held.';

revoke all on function replay.begin_items from public;
grant execute on function replay.begin_items to replay_processor;
