create view replay.projection_lag with (security_barrier) as
select
  l.host_id,
  p.projection_id,
  p.projection,
  p.consumer_group,
  p.status,
  l.lane,
  coalesce(s.last_offset, 0) as last_offset,
  l.last_offset as outbox_offset,
  l.last_offset - coalesce(s.last_offset, 0) as lag,
  s.moved_at,
  s.fault_code,
  s.fault_at
from replay.projection p
cross join replay.outbox_lane l
left join replay.position s
  on (s.host_id, s.projection_id, s.lane) = (l.host_id, p.projection_id, l.lane)
where p.status in ('RUNNING', 'PAUSED') and exists (
  select from replay.own_host own where own.host_id is null or own.host_id = l.host_id
);

comment on view replay.projection_lag is
'How far each started projection has read each lane of each host.';
comment on column replay.projection_lag.last_offset is 'The last offset it has passed.';
comment on column replay.projection_lag.outbox_offset is 'The last offset there is.';
comment on column replay.projection_lag.lag is 'Transactions not read yet.';
comment on column replay.projection_lag.moved_at is
'When its position last moved; null: nobody has read this lane.';
comment on column replay.projection_lag.fault_code is
'Why its last batch was rolled back whole; null: it was not.';

grant select on replay.projection_lag to replay_reader;
