create view replay.deferred_work with (security_barrier) as
select
  s.host_id,
  s.projection_id,
  p.projection,
  p.consumer_group,
  s.transaction_id,
  s.scope_type,
  s.scope_key,
  s.first_version,
  s.last_version,
  d.deferred_at,
  replay._now() - d.deferred_at as age,
  case
    when s.first_version > e.expected then 'GAP'
    when b.last_version = e.expected - 1 then 'TRANSACTION'
    when f.last_version = e.expected - 1 then 'FAILURE'
    when r.request_id is not null then 'BARRIER'
    else 'NOTHING'
  end as waits_for,
  b.transaction_id as transaction_before,
  f.failure_id,
  r.request_id,
  case when s.first_version > e.expected then e.expected end as missing_first,
  case when s.first_version > e.expected then s.first_version - 1 end as missing_last
from replay.deferred_scope s
join replay.deferred d
  on (d.host_id, d.projection_id, d.transaction_id)
    = (s.host_id, s.projection_id, s.transaction_id)
join replay.projection p on p.projection_id = s.projection_id
left join lateral (
  select
    x.transaction_id,
    x.last_version
  from replay.deferred_scope x
  where (x.host_id, x.projection_id, x.scope_type, x.scope_key)
    = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
    and x.first_version < s.first_version
  order by x.first_version desc
  limit 1
) b on true
left join replay.failure_scope f
  on (f.host_id, f.scope_type, f.scope_key, f.projection_id)
    = (s.host_id, s.scope_type, s.scope_key, s.projection_id)
    and f.is_open and f.scope_type <> 'TRANSACTION'
left join replay.progress g
  on (g.host_id, g.projection_id, g.scope_type, g.scope_key)
    = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
left join replay.barrier r
  on (r.host_id, r.projection_id, r.scope_type, r.scope_key)
    = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
cross join lateral (
  select
    1 + greatest(
      coalesce(b.last_version, 0), coalesce(f.last_version, 0), coalesce(g.version, 0)
    ) as expected
) e
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = s.host_id
);

comment on view replay.deferred_work is
'Deferred transactions, one row a scope of each, and what they wait for there.';
comment on column replay.deferred_work.waits_for is
'In this scope, for what comes right before it: TRANSACTION (deferred too), FAILURE (OPEN), GAP (a
version never received), BARRIER (a replay runs), NOTHING (it is next here).';
comment on column replay.deferred_work.transaction_before is
'The deferred transaction before it in this scope.';
comment on column replay.deferred_work.failure_id is
'The OPEN failure that holds this scope, directly before it or further ahead.';
comment on column replay.deferred_work.request_id is 'The request whose barrier stands here.';
comment on column replay.deferred_work.missing_first is
'With GAP: the first version missing before it.';
comment on column replay.deferred_work.missing_last is
'With GAP: the last version missing before it.';

grant select on replay.deferred_work to replay_reader;
