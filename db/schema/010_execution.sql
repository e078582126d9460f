-- What stands above single requests: the breaker, and steps that take two people.

create table replay.config (
  generation int primary key,
  enabled boolean not null,
  reason text not null,
  changed_by text not null,
  changed_at timestamptz not null
);
comment on table replay.config is
'The settings of the engine with their whole history. The highest generation holds.';
comment on column replay.config.enabled is
'The execution breaker. False: no new intent, claim or chunk; everything else goes on.';

insert into replay.config (generation, enabled, reason, changed_by, changed_at)
values (1, true, 'as installed', session_user, clock_timestamp());

create table replay.pending_action (
  host_id uuid not null,
  action_id uuid not null,
  kind text not null,
  request_id uuid not null,
  impact jsonb not null,
  status text not null,
  reason text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  primary key (host_id, action_id),
  foreign key (host_id, request_id) references replay.request,
  constraint pending_action_kind check (kind in ('RELEASE_REQUEST')),
  constraint pending_action_status check (status in ('AWAITING_APPROVAL', 'DONE')),
  constraint pending_action_two_people check (decided_by <> requested_by)
);
create unique index pending_action_awaiting
on replay.pending_action (host_id, request_id, kind)
where status = 'AWAITING_APPROVAL';
create index pending_action_by_request on replay.pending_action (host_id, request_id);
comment on table replay.pending_action is
'Steps that one person asked for and another has to take.';
comment on column replay.pending_action.impact is
'What was shown to who asked. The second person names it, and it must still be so.';
