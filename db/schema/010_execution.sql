-- What stands above single requests: the breaker, and steps that take two people.

create table replay.config (
  generation int primary key,
  enabled boolean not null,
  excluded_event_types text[] not null,
  digest bytea not null,
  reason text not null,
  changed_by text not null,
  changed_at timestamptz not null
);
comment on table replay.config is
'The settings of the engine with their whole history. The highest generation holds.';
comment on column replay.config.enabled is
'The execution breaker. False: no new intent, claim or chunk; everything else goes on.';

comment on column replay.config.excluded_event_types is
'Sorted. Failures with a member of one of these types cannot be planned.';
comment on column replay.config.digest is
'sha256 over generation (4 bytes), enabled (1 byte) and each excluded type, framed; so that two
people know that they speak of the same settings.';

insert into replay.config
values (1, true, '{}', sha256('\x0000000101'), 'as installed', session_user, clock_timestamp());

create table replay.instance (
  instance_id text primary key,
  is_expected boolean not null,
  generation int,
  seen_at timestamptz,
  constraint instance_bounded check (octet_length(instance_id) between 1 and 512)
)
-- A few rows, updated every ten seconds each.
with (fillfactor = 50);
comment on table replay.instance is
'Live processors: which are expected, and what each has told of itself. Executions need not: each
of their chunks asks for the settings.';
comment on column replay.instance.generation is
'That of the settings which it was given when it was seen last.';
comment on column replay.instance.seen_at is 'Null: it is expected and was never seen.';

create type replay.fleet_status as (
  generation int,
  enabled boolean,
  excluded_event_types text[],
  digest bytea,
  reason text,
  changed_by text,
  changed_at timestamptz,
  executing_count bigint,
  is_confirmed boolean,
  instances jsonb
);
comment on type replay.fleet_status is
'The settings that hold, how many replays are in execution at this moment, and whether each expected
process is known to have the settings.';

create table replay.pending_action (
  action_id uuid primary key,
  host_id uuid,
  kind text not null,
  subject text not null,
  request_id uuid,
  projection_id int references replay.projection,
  impact jsonb not null,
  status text not null,
  reason text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  decided_by text,
  decided_at timestamptz,
  decision_reason text,
  foreign key (host_id, request_id) references replay.request,
  constraint pending_action_kind check (
    kind in ('RELEASE_REQUEST', 'WAIVE_FAILURES', 'RETIRE_PROJECTION')),
  constraint pending_action_status check (status in ('AWAITING_APPROVAL', 'DONE')),
  constraint pending_action_two_people check (decided_by <> requested_by)
);
create unique index pending_action_awaiting on replay.pending_action (kind, subject)
where status = 'AWAITING_APPROVAL';
create index pending_action_by_request on replay.pending_action (host_id, request_id);
comment on table replay.pending_action is
'Steps that one person asked for and another has to take.';
comment on column replay.pending_action.host_id is 'Null: of the whole database, a projection.';
comment on column replay.pending_action.subject is
'What it is about: a request, a projection, or the digest of the ids of failures.';
comment on column replay.pending_action.impact is
'What was shown to who asked: exact ids and counts. The second person names it, and it must still be
so.';
