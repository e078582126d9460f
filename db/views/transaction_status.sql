create view replay.transaction_status with (security_barrier) as
select
  t.host_id,
  t.transaction_id,
  p.projection_id,
  p.projection,
  p.consumer_group,
  case
    when f.status = 'OPEN' then 'FAILED'
    when f.status = 'WAIVED' then 'WAIVED'
    when d.transaction_id is not null then 'DEFERRED'
    when f.status = 'RESOLVED' or l.transaction_id is not null or s.is_applied then 'APPLIED'
    when o.source_offset > coalesce(c.last_offset, 0) then 'PENDING'
    else 'PASSED'
  end as status,
  f.failure_id,
  t.appended_at
from replay.transaction t
cross join replay.projection p
left join replay.outbox o
  on (o.host_id, o.transaction_id) = (t.host_id, t.transaction_id)
left join replay.position c
  on (c.host_id, c.projection_id, c.lane) = (t.host_id, p.projection_id, o.lane)
left join replay.failure f
  on (f.host_id, f.projection_id, f.transaction_id)
    = (t.host_id, p.projection_id, t.transaction_id)
left join replay.deferred d
  on (d.host_id, d.projection_id, d.transaction_id)
    = (t.host_id, p.projection_id, t.transaction_id)
left join replay.ledger l
  on (l.host_id, l.projection_id, l.transaction_id)
    = (t.host_id, p.projection_id, t.transaction_id)
cross join lateral (
  select bool_and(coalesce(g.version >= x.last_version, false)) as is_applied
  from unnest(t.scopes) x
  left join replay.progress g
    on (g.host_id, g.projection_id, g.scope_type, g.scope_key)
      = (t.host_id, p.projection_id, x.scope_type, x.scope_key)
) s
where p.status in ('RUNNING', 'PAUSED') and exists (
  select from replay.own_host own where own.host_id is null or own.host_id = t.host_id
);

comment on view replay.transaction_status is
'What became of each appended transaction in each started projection.';
comment on column replay.transaction_status.status is
'APPLIED; DEFERRED until it is next; FAILED and quarantined until it is replayed; WAIVED; PENDING:
not read yet; PASSED: never a candidate, as the start of the projection or the evidence tells.';

grant select on replay.transaction_status to replay_reader, replay_appender;
