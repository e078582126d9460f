create view replay.evidence_log with (security_barrier) as
select
  e.host_id,
  e.evidence_id,
  p.projection,
  p.consumer_group,
  e.kind,
  e.transaction_id,
  e.other_transaction_id,
  e.lane,
  e.source_offset,
  array(select encode(d.digest, 'hex') from unnest(e.digests) d (digest)) as digests,
  e.recorded_at
from replay.evidence e
join replay.projection p on p.projection_id = e.projection_id
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = e.host_id
);

comment on view replay.evidence_log is
'What can never be a candidate: where it came from, and what it contradicts.';
comment on column replay.evidence_log.other_transaction_id is
'The transaction that holds a contested version, where there is one.';

grant select on replay.evidence_log to replay_reader;
