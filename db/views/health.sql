create view replay.health with (security_barrier) as
select
  p.projection_id,
  p.projection,
  p.consumer_group,
  p.status,
  p.pause_reason,
  b.blocked_scope_count,
  b.oldest_age,
  coalesce(b.incident, false) as incident,
  (
    select count(*) from replay.open_failure f
    where (f.projection, f.consumer_group) = (p.projection, p.consumer_group)
  ) as open_failure_count,
  (
    select count(*) from replay.gap g
    where g.projection_id = p.projection_id
  ) as gap_count,
  (
    select count(*) from replay.barrier x
    where x.projection_id = p.projection_id and exists (
      select from replay.own_host own where own.host_id is null or own.host_id = x.host_id
    )
  ) as barrier_count,
  (
    select count(*) from replay.deferred d
    where d.projection_id = p.projection_id and exists (
      select from replay.own_host own where own.host_id is null or own.host_id = d.host_id
    )
  ) as deferred_count,
  l.lag,
  l.fault_count
from replay.projection p
cross join lateral (
  select
    count(*) as blocked_scope_count,
    max(s.age) as oldest_age,
    bool_or(s.incident) as incident
  from replay.blocked_scope s
  where s.projection_id = p.projection_id
) b
cross join lateral (
  select
    coalesce(sum(x.lag), 0)::bigint as lag,
    count(x.fault_code) as fault_count
  from replay.projection_lag x
  where x.projection_id = p.projection_id
) l
where p.status <> 'RETIRED';

comment on view replay.health is 'One row a projection: is it well, and what stands in its way.';
comment on column replay.health.pause_reason is
'Why it is PAUSED: what somebody said, or that most of its transactions failed alike.';
comment on column replay.health.blocked_scope_count is
'Aggregates and graphs held back by OPEN failures.';
comment on column replay.health.oldest_age is 'How long the longest of them has been held back.';
comment on column replay.health.incident is 'One has been held back for 900 seconds or longer.';
comment on column replay.health.gap_count is 'Places where versions were never received.';
comment on column replay.health.barrier_count is 'Scopes that a replay holds now.';
comment on column replay.health.lag is 'Transactions not read yet, over all hosts and lanes.';
comment on column replay.health.fault_count is 'Lanes whose last batch was rolled back whole.';

grant select on replay.health to replay_reader;
