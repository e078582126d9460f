create view replay.batch_event with (security_barrier) as
select
  b.ord,
  e.ordinal,
  e.ordinal = b.member_count - 1 as is_last,
  b.host_id,
  b.transaction_id,
  b.follows,
  e.event_type,
  e.event_schema,
  e.payload
from replay.batch_item b
cross join lateral (
  select
    x.ordinal,
    x.event_type,
    x.event_schema,
    x.payload
  from replay.event x
  where b.failure_id is null and (x.host_id, x.transaction_id) = (b.host_id, b.transaction_id)
  union all
  select
    m.ordinal,
    m.event_type,
    m.event_schema,
    m.payload
  from replay.failure_member m
  where (m.host_id, m.failure_id) = (b.host_id, b.failure_id)
) e
where b.xact_id = pg_current_xact_id_if_assigned() and b.decision = 'APPLY';

comment on view replay.batch_event is
'The events to apply of the batch or chunk that this very database transaction holds: from the event
store when it is live, from what was kept at capture when it is a replay.';
comment on column replay.batch_event.follows is
'Earlier items without which this one is not to be applied.';
comment on column replay.batch_event.is_last is 'Whether it is the last of its transaction.';

grant select on replay.batch_event to replay_processor;
