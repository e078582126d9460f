-- Projections, and how far each has come.

create table replay.projection (
  projection_id int generated always as identity primary key,
  projection text not null,
  consumer_group text not null,
  status text not null,
  started_at timestamptz,
  start_at text,
  pause_reason text,
  registered_at timestamptz not null,
  registered_by text not null,
  constraint projection_name_unique unique (projection, consumer_group),
  constraint projection_status check (
    status in ('REGISTERED', 'RUNNING', 'PAUSED', 'RETIRED')),
  constraint projection_start_at check (start_at in ('BEGINNING', 'NOW'))
);
comment on table replay.projection is 'A read model and its consumer group, and their lifecycle.';
comment on column replay.projection.start_at is
'Where it started on the outbox; fixed once. NOW: behind what was appended by then.';

create table replay.position (
  projection_id int not null references replay.projection,
  host_id uuid not null,
  lane int not null,
  last_offset bigint not null default 0,
  applied_count bigint not null default 0,
  duplicate_count bigint not null default 0,
  stale_count bigint not null default 0,
  observed_count bigint not null default 0,
  conflict_count bigint not null default 0,
  deferred_count bigint not null default 0,
  drained_count bigint not null default 0,
  failed_count bigint not null default 0,
  ledger_bound bigint not null default 0,
  fault_code text,
  fault_at timestamptz,
  moved_at timestamptz,
  primary key (host_id, projection_id, lane)
)
-- One update a batch, no index on what changes: room on the page keeps them heap-only.
with (fillfactor = 50);
comment on table replay.position is
'Where a projection stands in one lane, and what it did there. Its row lock is the claim on the
lane.';
comment on column replay.position.applied_count is 'Applied from the outbox directly.';
comment on column replay.position.drained_count is 'Applied after having been deferred.';
comment on column replay.position.failed_count is 'Failures captured, live or while draining.';
comment on column replay.position.ledger_bound is
'Up to here the ledger may be pruned: an unordered transaction that comes again is evidence.';
comment on column replay.position.fault_code is
'Why the last batch was rolled back whole (a fault of the batch, not of a transaction); null: it
was not.';

create table replay.progress (
  host_id uuid not null,
  projection_id int not null references replay.projection,
  scope_type text not null,
  scope_key text not null,
  version bigint not null,
  primary key (host_id, projection_id, scope_type, scope_key)
)
-- One update a batch and scope, no index on version. With 70, 98% are heap-only; with 100, 85%.
with (fillfactor = 70);
comment on table replay.progress is
'The last applied version of each ordered scope; no row: none. Moved by compare-and-set only.';

create table replay.ledger (
  host_id uuid not null,
  projection_id int not null references replay.projection,
  transaction_id text not null,
  fingerprint bytea not null,
  applied_at timestamptz not null,
  primary key (host_id, projection_id, transaction_id)
)
-- As replay.transaction.
with (autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0.05);
comment on table replay.ledger is
'Applied transactions without an ordered scope. Ordered ones need none: redelivered, they are
stale.';

create table replay.deferred (
  host_id uuid not null,
  projection_id int not null references replay.projection,
  transaction_id text not null,
  lane int not null,
  source_offset bigint not null,
  deferred_at timestamptz not null,
  primary key (host_id, projection_id, transaction_id),
  foreign key (host_id, transaction_id) references replay.transaction
)
-- Comes and goes, now and then in great numbers: a fifth of it dead would be much to step over.
with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
comment on table replay.deferred is
'Live transactions that are not next yet, whole, by reference to the event store.';

create table replay.deferred_scope (
  host_id uuid not null,
  projection_id int not null,
  scope_type text not null,
  scope_key text not null,
  first_version bigint not null,
  last_version bigint not null,
  transaction_id text not null,
  -- first_version ahead of transaction_id: waking and draining scan it in version order.
  primary key (host_id, projection_id, scope_type, scope_key, first_version, transaction_id),
  foreign key (host_id, projection_id, transaction_id)
  references replay.deferred on delete cascade
)
-- As replay.deferred.
with (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
create index deferred_scope_by_transaction
on replay.deferred_scope (host_id, projection_id, transaction_id);
comment on table replay.deferred_scope is
'The ordered scopes that each deferred transaction carries.';

create table replay.wake (
  host_id uuid not null,
  projection_id int not null,
  lane int not null,
  transaction_id text not null,
  primary key (host_id, projection_id, lane, transaction_id),
  foreign key (host_id, projection_id, transaction_id)
  references replay.deferred on delete cascade
)
-- A queue: every poll steps over its dead rows, so they go early and without pauses. Its empty
-- pages go too, or the planner would go on to believe that they stay empty.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table replay.wake is
'Hints that a deferred transaction may be next now; written by whoever moved its scope, under the
scope lock.';

create table replay.observation (
  host_id uuid not null,
  projection_id int not null references replay.projection,
  transaction_id text not null,
  lane int not null,
  source_offset bigint not null,
  delivery_fingerprint bytea not null,
  observed_at timestamptz not null,
  primary key (host_id, projection_id, transaction_id, delivery_fingerprint)
);
comment on table replay.observation is
'Further deliveries of failures and deferred transactions. Insert-only, so it waits for nobody.';

create table replay.evidence (
  host_id uuid not null,
  evidence_id uuid not null default gen_random_uuid(),
  projection_id int not null references replay.projection,
  kind text not null,
  transaction_id text not null,
  other_transaction_id text,
  lane int not null,
  source_offset bigint not null,
  digests bytea[] not null,
  recorded_at timestamptz not null,
  primary key (host_id, evidence_id),
  constraint evidence_kind check (kind in ('CONFLICT', 'BEFORE_LEDGER'))
);
comment on table replay.evidence is
'What can never be a candidate, with coordinates and digests. It holds no scope.';
comment on column replay.evidence.other_transaction_id is
'The transaction that holds the contested version, where there is one.';

create table replay.trial (
  host_id uuid not null,
  projection_id int not null,
  transaction_id text not null,
  crash_count int not null,
  primary key (host_id, projection_id, transaction_id)
)
-- As replay.wake.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table replay.trial is
'Transactions whose handlers began and are not known to have ended: what runs now, under a careful
processor, and what took its process or connection down. Logged, for it may be the server that goes
down.';
comment on column replay.trial.crash_count is
'How often it began so; from 3 on it is a batch of its own, at 4 it is captured unrun.';

create unlogged table replay.batch_item (
  xact_id xid8 not null,
  ord int not null,
  projection_id int not null,
  host_id uuid not null,
  transaction_id text not null,
  lane int,
  source_offset bigint,
  member_count int not null,
  was_deferred boolean not null,
  failure_id uuid,
  scopes replay.scope_range[] not null,
  decision text not null,
  other_transaction_id text,
  follows int[] not null,
  primary key (xact_id, ord),
  constraint batch_item_decision check (decision in
    ('APPLY', 'DUPLICATE', 'OBSERVED', 'CONFLICT', 'STALE', 'DEFER', 'FAIL'))
)
-- As replay.outbox_pending: up to 500 rows a batch, dead at its end.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table replay.batch_item is
'The batch or chunk in the hands of a running database transaction. Unlogged: written and deleted
within it.';
comment on column replay.batch_item.follows is
'Earlier items of the batch that come right before it in a scope: when one of them is not applied,
neither is it.';

create type replay.batch_transaction as (
  xact_id xid8,
  ord int,
  host_id uuid,
  transaction_id text,
  decision text,
  was_deferred boolean,
  follows int[],
  event_types text[],
  event_schemas text[],
  payloads bytea[]
);
comment on type replay.batch_transaction is
'One transaction of a batch, as the executor gets it. Events are null unless it is to be applied.';

create type replay.claimed_transaction as (
  xact_id xid8,
  ord int,
  host_id uuid,
  transaction_id text,
  decision text,
  was_deferred boolean,
  follows int[],
  event_types text[],
  event_schemas text[],
  payloads bytea[],
  crash_count int
);
comment on type replay.claimed_transaction is
'One transaction of a live batch: replay.batch_transaction, and how often it took a process or a
connection down.';

create type replay.batch_outcome as (failures jsonb, skipped int[], upto int);
comment on type replay.batch_outcome is
'What the handlers of a batch or chunk came to, as complete_batch and complete_items take it.';

create type replay.batch_scope as (
  ord int,
  host_id uuid,
  scope_type text,
  scope_key text,
  first_version bigint,
  last_version bigint,
  progress bigint,
  barred boolean,
  holder text
);
comment on type replay.batch_scope is
'One ordered scope of one batch item, and what the decision needs to know of it: progress, whether
a barrier stands on it, and which other transaction holds one of its versions.';

create type replay.batch_result as (
  applied_count bigint,
  duplicate_count bigint,
  stale_count bigint,
  observed_count bigint,
  conflict_count bigint,
  deferred_count bigint,
  drained_count bigint,
  failed_count bigint
);
comment on type replay.batch_result is 'What became of the transactions of one batch.';
