create or replace function replay._add_positions(
  p_projection_id int,
  p_host_ids uuid[],
  p_lane int
)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  -- One adds at a time and the others go on without: they must not wait for its whole batch.
  if not exists (select from replay._lanes_without_position(p_projection_id, p_host_ids, p_lane))
    or not pg_try_advisory_xact_lock(replay._lock_key('positions ' || p_projection_id))
  then
    return;
  end if;

  insert into replay.position (host_id, projection_id, lane)
  select l.host_id, p_projection_id, l.lane
  from replay._lanes_without_position(p_projection_id, p_host_ids, p_lane) l;
end;
$$;

comment on function replay._add_positions is
'Give a projection a position, at the beginning, in each lane that it has none in: a lane that came
up after its start.';

revoke all on function replay._add_positions from public;
