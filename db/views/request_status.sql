create view replay.request_status with (security_barrier) as
select
  r.host_id,
  r.request_id,
  p.projection,
  p.consumer_group,
  r.strategy,
  r.mode,
  case when replay._has_expired(r.status, r.expires_at) then 'EXPIRED' else r.status end as status,
  r.status in ('INSTALLING_BARRIER', 'RUNNING')
  and not replay._is_held(
    r.host_id, r.request_id, r.lease_until, r.holder_pooled
  ) as retryable,
  r.failure_code,
  r.plan_hash,
  r.item_count,
  (
    select count(*)::int
    from replay.request_item i
    where (i.host_id, i.request_id) = (r.host_id, r.request_id)
      and i.status in ('SUCCEEDED', 'ROLLED_BACK')
  ) as done_count,
  (
    select count(*)::int
    from replay.barrier b
    where (b.host_id, b.request_id) = (r.host_id, r.request_id)
  ) as barrier_count,
  r.member_count,
  r.byte_count,
  r.reason,
  r.requested_by,
  r.requested_at,
  r.expires_at,
  r.approved_by,
  r.approved_at,
  r.approval_reason,
  r.executed_by,
  r.executed_at,
  r.execution_reason,
  r.cancelled_by,
  r.cancellation_reason,
  r.fence,
  r.lease_until,
  r.finished_at
from replay.request r
join replay.projection p on p.projection_id = r.projection_id
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = r.host_id
);

comment on view replay.request_status is
'Replay requests: what is planned, who decided what, and how it stands.';
comment on column replay.request_status.status is
'As stored, but EXPIRED as soon as the plan is, whether or not anybody has written that down.';
comment on column replay.request_status.retryable is
'An execution of it can be claimed now: its intent is committed and nobody alive holds it.';
comment on column replay.request_status.plan_hash is 'sha256 of the plan; approval names it.';
comment on column replay.request_status.done_count is
'Items that succeeded, or were rolled back as a dry run is.';
comment on column replay.request_status.barrier_count is
'Scopes barred for the chunk in hand, or left by a holder that died.';
comment on column replay.request_status.expires_at is 'Until when it can be executed.';
comment on column replay.request_status.lease_until is
'Until when the current claim is presumed alive; null: nobody holds it.';

grant select on replay.request_status to replay_reader;
