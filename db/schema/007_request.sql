-- Replay requests: immutable plans and their life.

create table replay.request_transition (
  from_status text not null,
  to_status text not null,
  primary key (from_status, to_status)
);
comment on table replay.request_transition is 'The allowed moves of a request; a trigger asks it.';
insert into replay.request_transition values
('PLANNING', 'READY'),
('PLANNING', 'FAILED'),
('READY', 'AWAITING_APPROVAL'),
('READY', 'CANCELLED'),
('READY', 'EXPIRED'),
('AWAITING_APPROVAL', 'APPROVED'),
('AWAITING_APPROVAL', 'CANCELLED'),
('AWAITING_APPROVAL', 'EXPIRED'),
('APPROVED', 'INSTALLING_BARRIER'),
('APPROVED', 'CANCELLED'),
('APPROVED', 'EXPIRED'),
('INSTALLING_BARRIER', 'RUNNING'),
('INSTALLING_BARRIER', 'FAILED'),
('RUNNING', 'SUCCEEDED'),
('RUNNING', 'FAILED');

create table replay.request (
  host_id uuid not null,
  request_id uuid not null,
  projection_id int not null references replay.projection,
  strategy text not null,
  mode text not null,
  status text not null,
  plan bytea not null,
  plan_hash bytea not null generated always as (sha256(plan)) stored,
  item_count int not null,
  member_count int not null,
  byte_count bigint not null,
  reason text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  expires_at timestamptz not null,
  approved_by text,
  approved_at timestamptz,
  approval_reason text,
  executed_by text,
  executed_at timestamptz,
  execution_reason text,
  cancelled_by text,
  cancellation_reason text,
  fence bigint not null default 0,
  lease_until timestamptz,
  holder_pooled boolean not null default false,
  finished_at timestamptz,
  failure_code text,
  primary key (host_id, request_id),
  constraint request_strategy check (strategy in ('EXACT', 'DEPENDENCY_CLOSURE')),
  constraint request_mode check (mode in ('EXECUTE', 'VALIDATE_ONLY', 'ROLLBACK_DRY_RUN')),
  constraint request_status check (status in
    ('PLANNING', 'READY', 'AWAITING_APPROVAL', 'APPROVED', 'INSTALLING_BARRIER', 'RUNNING',
      'SUCCEEDED', 'FAILED', 'CANCELLED', 'EXPIRED')),
  constraint request_two_people check (approved_by <> requested_by)
);
create index request_listed on replay.request (host_id, requested_at, request_id);
comment on table replay.request is
'An immutable plan, who asked for it and approved it, and how its execution stands.';
comment on column replay.request.plan is
'The plan document; layout in docs/contract.md. Approval names its sha256.';
comment on column replay.request.fence is
'Raised by every claim; each write of a holder checks it.';
comment on column replay.request.lease_until is
'Until when the current claim is presumed alive; null: nobody holds it.';
comment on column replay.request.holder_pooled is
'The holder has no session-level liveness lock, only its lease.';

create table replay.request_item (
  host_id uuid not null,
  request_id uuid not null,
  item_no int not null,
  failure_id uuid not null,
  fingerprint bytea not null,
  status text not null default 'PENDING',
  primary key (host_id, request_id, item_no),
  constraint request_item_failure_unique unique (host_id, request_id, failure_id),
  foreign key (host_id, request_id) references replay.request,
  foreign key (host_id, failure_id) references replay.failure,
  constraint request_item_status check (
    status in ('PENDING', 'SUCCEEDED', 'FAILED', 'ROLLED_BACK'))
)
-- Each is updated once, all of a chunk in one commit, and status is in no index: with as much room
-- as rows, all updates are heap-only.
with (fillfactor = 50);
create index request_item_by_failure on replay.request_item (host_id, failure_id);
comment on table replay.request_item is 'One failure in a plan, and whether it is done.';

create table replay.run (
  host_id uuid not null,
  request_id uuid not null,
  fence bigint not null,
  status text not null,
  claimed_by text not null,
  started_at timestamptz not null,
  ended_at timestamptz,
  chunk_count int not null default 0,
  primary key (host_id, request_id, fence),
  foreign key (host_id, request_id) references replay.request,
  constraint run_status check (
    status in ('RUNNING', 'SUCCEEDED', 'FAILED', 'YIELDED', 'ABANDONED'))
);
comment on table replay.run is 'One claim of a request, and how it ended.';

create table replay.attempt (
  host_id uuid not null,
  request_id uuid not null,
  item_no int not null,
  fence bigint not null,
  result text not null,
  error_code text,
  error_text text,
  error_handler text,
  error_line text,
  error_constraint text,
  error_table text,
  error_column text,
  ended_at timestamptz not null,
  primary key (host_id, request_id, item_no, fence),
  foreign key (host_id, request_id, item_no) references replay.request_item,
  foreign key (host_id, request_id, fence) references replay.run,
  constraint attempt_result check (
    result in ('SUCCEEDED', 'FAILED', 'ROLLED_BACK', 'ABANDONED'))
);
comment on table replay.attempt is
'One try of one item. ABANDONED: its holder died with the item''s barrier standing.';

create table replay.barrier (
  host_id uuid not null,
  projection_id int not null references replay.projection,
  scope_type text not null,
  scope_key text not null,
  request_id uuid not null,
  item_no int not null,
  fence bigint not null,
  raised_at timestamptz not null,
  primary key (host_id, projection_id, scope_type, scope_key),
  foreign key (host_id, request_id, item_no) references replay.request_item
);
create index barrier_by_request on replay.barrier (host_id, request_id);
comment on table replay.barrier is
'Scopes in which a chunk of items executes; live work there is deferred. One left by a crash is
the obligation to settle.';
