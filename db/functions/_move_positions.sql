create or replace function replay._move_positions(p_xact_id xid8)
  returns replay.batch_result
  language sql
  volatile
begin atomic
  with counted as (
    select b.host_id, b.projection_id, b.lane,
      coalesce(max(b.source_offset) filter (where not b.was_deferred), 0) as last_offset,
      count(*) filter (where b.decision = 'APPLY' and not b.was_deferred) as applied,
      count(*) filter (where b.decision = 'DUPLICATE') as duplicate,
      count(*) filter (where b.decision = 'STALE') as stale,
      count(*) filter (where b.decision = 'OBSERVED') as observed,
      count(*) filter (where b.decision = 'CONFLICT') as conflict,
      count(*) filter (where b.decision = 'DEFER' and not b.was_deferred) as deferred,
      count(*) filter (where b.decision = 'APPLY' and b.was_deferred) as drained,
      count(*) filter (where b.decision = 'FAIL') as failed
    from replay.batch_item b
    where b.xact_id = p_xact_id
    group by b.host_id, b.projection_id, b.lane
  ),
  moved as (
    update replay.position p
    set last_offset = greatest(p.last_offset, c.last_offset),
      applied_count = p.applied_count + c.applied,
      duplicate_count = p.duplicate_count + c.duplicate,
      stale_count = p.stale_count + c.stale,
      observed_count = p.observed_count + c.observed,
      conflict_count = p.conflict_count + c.conflict,
      deferred_count = p.deferred_count + c.deferred,
      drained_count = p.drained_count + c.drained,
      failed_count = p.failed_count + c.failed,
      fault_code = null,
      fault_at = null,
      moved_at = replay._now()
    from counted c
    where (p.host_id, p.projection_id, p.lane) = (c.host_id, c.projection_id, c.lane)
  )
  select sum(c.applied)::bigint, sum(c.duplicate)::bigint, sum(c.stale)::bigint,
    sum(c.observed)::bigint, sum(c.conflict)::bigint, sum(c.deferred)::bigint,
    sum(c.drained)::bigint, sum(c.failed)::bigint
  from counted c;
end;

comment on function replay._move_positions is
'Move the claimed positions behind what the batch dealt with, and count it. A batch read every
position without a hole, so the highest offset in it tells.';

revoke all on function replay._move_positions from public;
