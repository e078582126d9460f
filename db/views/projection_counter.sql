create view replay.projection_counter with (security_barrier) as
select
  s.host_id,
  s.projection_id,
  p.projection,
  p.consumer_group,
  p.status,
  s.applied,
  s.duplicate,
  s.stale,
  s.observed,
  s.conflict,
  s.deferred,
  s.drained,
  s.failed,
  (
    select count(*)
    from replay.failure f
    where f.host_id = s.host_id and f.projection_id = s.projection_id and f.status = 'RESOLVED'
  ) as replayed
from (
  select
    x.host_id,
    x.projection_id,
    sum(x.applied_count)::bigint as applied,
    sum(x.duplicate_count)::bigint as duplicate,
    sum(x.stale_count)::bigint as stale,
    sum(x.observed_count)::bigint as observed,
    sum(x.conflict_count)::bigint as conflict,
    sum(x.deferred_count)::bigint as deferred,
    sum(x.drained_count)::bigint as drained,
    sum(x.failed_count)::bigint as failed
  from replay.position x
  where exists (
    select from replay.own_host own where own.host_id is null or own.host_id = x.host_id
  )
  group by x.host_id, x.projection_id
) s
join replay.projection p on p.projection_id = s.projection_id;

comment on view replay.projection_counter is
'What each projection did with the transactions of each host, ever since it started.';
comment on column replay.projection_counter.applied is 'Applied as they were read.';
comment on column replay.projection_counter.duplicate is
'Read again after they were applied (unordered ones).';
comment on column replay.projection_counter.stale is
'Read with all their versions applied already.';
comment on column replay.projection_counter.observed is 'Read again while failed or deferred.';
comment on column replay.projection_counter.conflict is 'Never candidates; see the evidence.';
comment on column replay.projection_counter.deferred is 'Kept until they were next.';
comment on column replay.projection_counter.drained is 'Applied after having been deferred.';
comment on column replay.projection_counter.failed is 'Captured as failures.';
comment on column replay.projection_counter.replayed is 'Failures brought back by a replay.';

grant select on replay.projection_counter to replay_reader;
