create view replay.blocked_scope with (security_barrier) as
select
  s.host_id,
  s.projection_id,
  p.projection,
  p.consumer_group,
  s.scope_type,
  s.scope_key,
  s.first_version as blocked_version,
  s.failure_id,
  f.captured_at as since,
  replay._now() - f.captured_at as age,
  replay._now() - f.captured_at >= interval '900 seconds' as incident,
  w.waiting_count,
  w.last_waiting_version,
  b.request_id as replaying_request_id
from replay.failure_scope s
join replay.failure f on (f.host_id, f.failure_id) = (s.host_id, s.failure_id)
join replay.projection p on p.projection_id = s.projection_id
left join replay.barrier b
  on (b.host_id, b.projection_id, b.scope_type, b.scope_key)
    = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
cross join lateral (
  select
    count(*) as waiting_count,
    max(d.last_version) as last_waiting_version
  from replay.deferred_scope d
  where (d.host_id, d.projection_id, d.scope_type, d.scope_key)
    = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
) w
where s.is_open and s.scope_type <> 'TRANSACTION' and exists (
  select from replay.own_host own where own.host_id is null or own.host_id = s.host_id
);

comment on view replay.blocked_scope is
'Aggregates and graphs that an OPEN failure holds back. New commands to them are refused.';
comment on column replay.blocked_scope.blocked_version is
'The version that failed; nothing from it on is applied.';
comment on column replay.blocked_scope.incident is 'Blocked for 900 seconds or longer.';
comment on column replay.blocked_scope.waiting_count is 'Deferred transactions in this scope.';
comment on column replay.blocked_scope.replaying_request_id is
'The request whose barrier stands here now; null: nobody replays it.';

grant select on replay.blocked_scope to replay_reader;
