create or replace function replay.claim_batch(
  p_projection text,
  p_consumer_group text default 'default',
  p_host_id uuid default null,
  p_lane int default null,
  p_limit int default 500,
  p_woken_only boolean default false,
  p_with_events boolean default true
)
  returns setof replay.claimed_transaction
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- Each statement is a few index probes a transaction at any size of table: plan it once for all,
  -- and never by scans.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_mergejoin = off
  set enable_bitmapscan = off
as $$
declare
  v_hosts uuid[] := replay._own_hosts(p_host_id);
  v_projection replay.projection;
  v_items replay.batch_item[];
begin
  perform replay._require_read_committed();
  if (p_limit between 1 and 500) is not true then
    raise exception 'a batch cannot hold % transactions', p_limit
      using errcode = 'RP001', detail = jsonb_build_object('limit', p_limit),
            hint = 'Ask for 1 to 500.';
  end if;
  perform replay._check_no_batch();
  v_projection := replay._started_projection(p_projection, p_consumer_group);
  if v_projection.status <> 'RUNNING' then
    return;
  end if;

  v_items := replay._read_candidates(
    replay._claim_positions(v_projection.projection_id, v_hosts, p_lane, p_limit, p_woken_only),
    p_limit, p_woken_only);
  if v_items is null and not p_woken_only then
    perform replay._check_room(v_projection.projection_id, v_hosts, p_lane);
  end if;
  perform replay._lock_scopes(array(
    select replay._scope_lock_key(i.host_id, i.projection_id, s.scope_type, s.scope_key)
    from unnest(v_items) i cross join unnest(i.scopes) s));

  insert into replay.batch_item
  select d.* from replay._decide(v_items) d;
  return query
  select b.*, coalesce((
      select t.crash_count
      from replay.trial t
      where (t.host_id, t.projection_id, t.transaction_id)
        = (b.host_id, v_projection.projection_id, b.transaction_id)), 0)
  from replay._read_batch(pg_current_xact_id(), p_with_events) b;
end;
$$;

comment on function replay.claim_batch is
'Claim the next batch of a running projection: lock positions, read whole transactions and what is
woken, lock their scopes, decide each. Nothing when there is nothing to do or the projection is
paused. Run the handlers of those to APPLY in the same database transaction, then complete_batch.
One whose crash_count is 4 or more is not to be run, but reported as HANDLER_CRASHED.

p_host_id, p_lane: only these; null: all (of the hosts that the caller is a member of). p_limit: transactions at most (also 500 scopes, 16 MiB).
p_woken_only: only what was deferred and may be next now. p_with_events: false: without event types
and payloads, for run_batch.
Raises RP001 when p_limit is out of bounds; RP010 outside READ COMMITTED; RP101 when the projection
is not registered; RP213 when it has not started or is retired; RP502 when there is no room to keep
what might fail.';

revoke all on function replay.claim_batch from public;
grant execute on function replay.claim_batch to replay_processor;
