create view replay.audit_log with (security_barrier) as
select
  a.host_id,
  a.audit_id,
  a.recorded_at,
  a.action,
  a.actor,
  a.reason,
  p.projection,
  p.consumer_group,
  a.request_id,
  a.failure_id,
  a.transaction_id,
  a.detail
from replay.audit a
left join replay.projection p on p.projection_id = a.projection_id
where a.host_id is null or exists (
  select from replay.own_host own where own.host_id is null or own.host_id = a.host_id
);

comment on view replay.audit_log is 'Every command and transition: who, why, on what.';
comment on column replay.audit_log.host_id is 'Null: of the whole database.';

grant select on replay.audit_log to replay_reader;
