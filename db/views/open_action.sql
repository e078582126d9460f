create view replay.open_action with (security_barrier) as
select
  a.host_id,
  a.action_id,
  a.kind,
  a.request_id,
  a.impact,
  a.reason,
  a.requested_by,
  a.requested_at,
  a.expires_at
from replay.pending_action a
where a.status = 'AWAITING_APPROVAL' and a.expires_at > replay._now();

comment on view replay.open_action is
'Steps that wait for a second person, who names the action and its impact.';

grant select on replay.open_action to replay_reader;
