create view replay.gap with (security_barrier) as
select
  w.host_id,
  w.projection_id,
  w.projection,
  w.consumer_group,
  w.scope_type,
  w.scope_key,
  w.missing_first,
  w.missing_last,
  w.first_version as found_version,
  w.transaction_id as found_transaction_id,
  w.deferred_at as since,
  w.age,
  coalesce(h.version >= w.missing_first, false) as appended
from replay.deferred_work w
left join replay.stream_head h
  on (h.host_id, h.scope_type, h.scope_key) = (w.host_id, w.scope_type, w.scope_key)
where w.waits_for = 'GAP';

comment on view replay.gap is
'Versions that a projection never received while later ones of their scope wait for them.';
comment on column replay.gap.missing_first is 'The first missing version.';
comment on column replay.gap.missing_last is 'The last missing version before the one found.';
comment on column replay.gap.found_version is 'The deferred version right behind the gap.';
comment on column replay.gap.since is 'When the transaction found was deferred.';
comment on column replay.gap.appended is
'The missing version is in the event store: a lane of the host is not read, or not far enough.';

grant select on replay.gap to replay_reader;
