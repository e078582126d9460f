create view replay.metric with (security_barrier) as
select
  'replay_' || m.name as name,
  m.help,
  p.labels,
  m.value
from replay.health h
cross join lateral (
  select jsonb_build_object('projection', h.projection, 'consumer_group', h.consumer_group)
) p (labels)
cross join lateral (
  values
  ('projection_running', 'Whether live processors may take batches.', (h.status = 'RUNNING')::int),
  ('lag_transactions', 'Transactions not read yet.', h.lag),
  ('open_failures', 'Failures that wait for a replay.', h.open_failure_count),
  ('blocked_scopes', 'Aggregates and graphs held back by failures.', h.blocked_scope_count),
  (
    'oldest_blocked_seconds', 'How long the longest of them has been held back.',
    coalesce(extract(epoch from h.oldest_age), 0)
  ),
  ('gaps', 'Places where versions were never received.', h.gap_count),
  ('barriers', 'Scopes that a replay holds now.', h.barrier_count),
  ('deferred_transactions', 'Transactions kept until they are next.', h.deferred_count),
  ('faulty_lanes', 'Lanes whose last batch was rolled back whole.', h.fault_count)
) m (name, help, value)
union all
select
  'replay_transactions_total' as name,
  'Transactions, by what became of them.' as help,
  jsonb_build_object(
    'projection', c.projection, 'consumer_group', c.consumer_group, 'outcome', v.outcome
  ) as labels,
  sum(v.value) as value
from replay.projection_counter c
cross join lateral (
  values
  ('applied', c.applied), ('drained', c.drained), ('failed', c.failed),
  ('deferred', c.deferred), ('duplicate', c.duplicate), ('stale', c.stale),
  ('observed', c.observed), ('conflict', c.conflict)
) v (outcome, value)
group by c.projection, c.consumer_group, v.outcome
union all
select
  'replay_archive_bytes' as name,
  'Bytes of payload kept with failures, over all hosts.' as help,
  '{}' as labels,
  coalesce(sum(c.byte_count), 0) as value
from replay.capacity c
union all
select
  'replay_hosts_at_limit' as name,
  'Hosts whose archive is at its soft limit, or full.' as help,
  jsonb_build_object('state', s.state) as labels,
  (select count(*) from replay.capacity c where c.state = s.state) as value
from (values ('SOFT_LIMIT'), ('FULL')) s (state)
union all
select
  'replay_requests' as name,
  'Replay requests, by status.' as help,
  jsonb_build_object('status', r.status) as labels,
  count(*) as value
from replay.request_status r
where r.finished_at is null
group by r.status
union all
select
  'replay_execution_enabled' as name,
  'Whether the execution of replays is allowed.' as help,
  '{}' as labels,
  s.enabled::int as value
from replay.setting s
union all
select
  'replay_instances_unconfirmed' as name,
  'Expected processes that are not known to have the settings.' as help,
  '{}' as labels,
  count(*) as value
from replay.instance_status i
where i.is_expected and i.state <> 'CONFIRMED';

comment on view replay.metric is
'Numbers to watch, of the hosts of the caller. Labels are projections, groups and states: as many as
there are projections, whatever the data.';

grant select on replay.metric to replay_reader;
