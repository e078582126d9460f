create view replay.open_action with (security_barrier) as
select
  a.host_id,
  a.action_id,
  a.kind,
  a.request_id,
  p.projection,
  p.consumer_group,
  a.impact,
  a.reason,
  a.requested_by,
  a.requested_at,
  a.expires_at
from replay.pending_action a
left join replay.projection p on p.projection_id = a.projection_id
where a.status = 'AWAITING_APPROVAL' and a.expires_at > replay._now()
  and (a.host_id is null or exists (
    select from replay.own_host own where own.host_id is null or own.host_id = a.host_id
  ));

comment on view replay.open_action is
'Steps that wait for a second person, who names the action and its impact.';

grant select on replay.open_action to replay_reader;
