create or replace function replay._claim_positions(
  p_projection_id int,
  p_host_ids uuid[],
  p_lane int,
  p_limit int,
  p_woken_only boolean
)
  returns replay.position[]
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_work cursor for
    select p as place, case when x.is_woken then p_limit / 2 else 0 end
      + case when p_woken_only or x.is_full then 0 else l.last_offset - p.last_offset end
        as waiting_count
    from replay.position p
    join replay.outbox_lane l on (l.host_id, l.lane) = (p.host_id, p.lane)
    cross join lateral (
      select exists (
        select from replay.wake w
        where (w.host_id, w.projection_id, w.lane) = (p.host_id, p.projection_id, p.lane)),
        exists (
          select from replay.archive a
          where a.host_id = p.host_id and a.byte_count >= a.hard_limit)
    ) x (is_woken, is_full)
    where p.projection_id = p_projection_id
      and (p_host_ids is null or p.host_id = any (p_host_ids)) and (p_lane is null or p.lane = p_lane)
      and (x.is_woken or (l.last_offset > p.last_offset and not p_woken_only and not x.is_full))
    -- Least recently served first, so that no host starves.
    order by p.moved_at nulls first, p.host_id, p.lane
    for no key update of p skip locked;
  v_claimed replay.position[] := '{}'::replay.position[];
  v_waiting_count bigint := 0::bigint;
begin
  perform replay._add_positions(p_projection_id, p_host_ids, p_lane);
  -- Row by row: a position is locked when it is fetched, and what this batch cannot fill itself
  -- from stays free for other processors.
  for v_next in v_work loop
    v_claimed := v_claimed || v_next.place;
    v_waiting_count := v_waiting_count + v_next.waiting_count;
    exit when v_waiting_count >= p_limit or cardinality(v_claimed) = 16;
  end loop;
  return v_claimed;
end;
$$;

comment on function replay._claim_positions is
'Claim, by their row locks, positions that have something to do and that nobody else holds: as many
as fill a batch of p_limit transactions, at most 16. p_host_ids: null: of all hosts.';

revoke all on function replay._claim_positions from public;
