create view replay.standing_hold with (security_barrier) as
select
  h.host_id,
  h.hold_id,
  h.failure_id,
  h.reason,
  h.placed_by,
  h.placed_at
from replay.legal_hold h
where h.released_at is null and exists (
  select from replay.own_host own where own.host_id is null or own.host_id = h.host_id
);

comment on view replay.standing_hold is 'Legal holds that keep payloads from retention.';
comment on column replay.standing_hold.failure_id is 'Null: every failure of the host.';

grant select on replay.standing_hold to replay_reader;
