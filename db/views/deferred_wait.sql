create view replay.deferred_wait with (security_barrier) as
select
  s.host_id,
  s.projection_id,
  p.projection,
  p.consumer_group,
  s.transaction_id,
  b.transaction_id as waits_for,
  s.scope_type,
  s.scope_key
from replay.deferred_scope s
join replay.projection p on p.projection_id = s.projection_id
cross join lateral (
  select x.transaction_id
  from replay.deferred_scope x
  where (x.host_id, x.projection_id, x.scope_type, x.scope_key)
    = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
    and x.first_version < s.first_version
  order by x.first_version desc
  limit 1
) b
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = s.host_id
);

comment on view replay.deferred_wait is
'Which deferred transaction waits for which other one, one row a scope. A cycle in it, possible only
with versions from outside that contradict each other, waits for ever; `pyreplay doctor` names it.';
comment on column replay.deferred_wait.waits_for is
'The deferred transaction that comes before it in this scope, directly or with a gap between them.';

grant select on replay.deferred_wait to replay_reader;
