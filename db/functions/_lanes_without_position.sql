create or replace function replay._lanes_without_position(
  p_projection_id int,
  p_host_ids uuid[],
  p_lane int
)
  returns setof replay.outbox_lane
  language sql
  volatile
begin atomic
  select l.*
  from replay.outbox_lane l
  where (p_host_ids is null or l.host_id = any (p_host_ids))
    and (p_lane is null or l.lane = p_lane)
    and not exists (
      select from replay.position p
      where (p.host_id, p.projection_id, p.lane) = (l.host_id, p_projection_id, l.lane));
end;

comment on function replay._lanes_without_position is
'The lanes that a projection has no position in yet.';

revoke all on function replay._lanes_without_position from public;
