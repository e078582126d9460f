create or replace function replay._check_room(
  p_projection_id int, p_host_ids uuid[], p_lane int
)
  returns void
  language sql
  volatile
begin atomic
  select replay._refuse_full(a)
  from replay.archive a
  join replay.outbox_lane l on l.host_id = a.host_id
  join replay.position p
    on (p.host_id, p.projection_id, p.lane) = (a.host_id, p_projection_id, l.lane)
  where a.byte_count >= a.hard_limit and l.last_offset > p.last_offset
    and (p_host_ids is null or a.host_id = any (p_host_ids))
    and (p_lane is null or l.lane = p_lane)
  limit 1;
end;

comment on function replay._check_room is
'Refuse to find nothing to do where there is something, but no room to keep what may fail of it.

Raises RP502.';

revoke all on function replay._check_room from public;
