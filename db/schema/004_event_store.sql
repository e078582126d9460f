-- What was appended, and the order in which it is read.

create type replay.scope_range as (
  scope_type text,
  scope_key text,
  first_version bigint,
  last_version bigint
);
comment on type replay.scope_range is
'A scope and the contiguous versions of it that one transaction carries (null: TRANSACTION).';

create type replay.carried_scope as (
  place int,
  scope_type text,
  scope_key text,
  first_version bigint,
  last_version bigint
);
comment on type replay.carried_scope is
'An ordered scope and the versions of it that one transaction of a call carries; place: of that
transaction in the call, from 1.';

create type replay.member_envelope as (
  place int,
  payload bytea,
  event_id text,
  event_type text,
  event_schema text,
  host uuid,
  transaction_id text,
  transaction_count int,
  transaction_ordinal int,
  aggregate_type text,
  aggregate_id text,
  aggregate_version bigint,
  graph_root text,
  graph_revision bigint,
  data_type text
);
comment on type replay.member_envelope is
'What the engine reads out of the bytes of one event.';
comment on column replay.member_envelope.place is
'The place of its transaction in the call that appends it, from 1.';
comment on column replay.member_envelope.aggregate_id is 'The subject.';
comment on column replay.member_envelope.data_type is
'The JSON type of data; null: the event has none.';

create table replay.host (
  host_id uuid primary key,
  lane_count int not null default 1,
  constraint host_lane_count check (lane_count between 1 and 1024)
);
comment on table replay.host is 'Settings of a host; a host without a row has one lane.';

create table replay.transaction (
  host_id uuid not null,
  transaction_id text not null,
  -- No foreign key: versions never go away, and its check would lock one row for all hosts.
  registry_version int not null,
  member_count int not null,
  byte_count int not null,
  runs_alone boolean not null,
  scopes replay.scope_range[] not null,
  appended_at timestamptz not null,
  appended_by text not null,
  primary key (host_id, transaction_id)
)
-- Never changes: frozen by its first vacuum, while it is in memory still, and never written again.
with (autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0.05);
comment on table replay.transaction is 'One row an appended transaction. Never changes.';
comment on column replay.transaction.registry_version is
'The registry version it was checked against, and is always read under.';
comment on column replay.transaction.runs_alone is
'A member has side effects or is not replayable: it is a batch of its own.';

create table replay.event (
  host_id uuid not null,
  transaction_id text not null,
  ordinal int not null,
  event_id text not null,
  event_type text not null,
  event_schema text not null,
  payload bytea not null,
  digest bytea not null generated always as (sha256(payload)) stored,
  -- No foreign key: who stores the transaction stores these, neither ever goes away, and the check
  -- of each single row would cost more than storing it.
  primary key (host_id, transaction_id, ordinal),
  constraint event_id_unique unique (host_id, event_id)
)
-- As replay.transaction.
with (autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0.05);
comment on table replay.event is 'The members, as the exact bytes that were appended.';
comment on column replay.event.payload is 'The CloudEvent in JSON, exactly as received.';
-- Payloads are JSON of a few hundred bytes to megabytes; lz4 costs a fraction of pglz.
do $$
begin
  alter table replay.event alter column payload set compression lz4;
exception when feature_not_supported then
  null; -- This server was built without it and keeps pglz.
end;
$$;

create table replay.stream_head (
  host_id uuid not null,
  scope_type text not null,
  scope_key text not null,
  version bigint not null,
  first_version bigint not null default 1,
  primary key (host_id, scope_type, scope_key),
  constraint stream_head_version check (version > 0)
)
-- One update an append, no index on version: room on the page keeps them heap-only.
with (fillfactor = 70);
comment on table replay.stream_head is
'The last appended version of each ordered scope; its row lock orders concurrent appends.';
comment on column replay.stream_head.first_version is
'Always 1. An append offers a row from the first to the last version it carries: one that meets a
row has to come right behind its version, and one that stays has to begin at 1.';

create table replay.outbox_lane (
  host_id uuid not null,
  lane int not null,
  last_offset bigint not null,
  pruned_offset bigint not null default 0,
  primary key (host_id, lane)
)
-- One update a commit: room on the page for heap-only ones, also while an old snapshot is open.
with (fillfactor = 50);
comment on table replay.outbox_lane is
'The last offset of each lane. Locked in key order at COMMIT: offsets are gapless and visible in
order.';
comment on column replay.outbox_lane.pruned_offset is
'Up to here rows of the outbox may be gone: every projection in use had read them.';

create table replay.outbox (
  host_id uuid not null,
  lane int not null,
  source_offset bigint not null,
  transaction_id text not null,
  primary key (host_id, lane, source_offset),
  constraint outbox_transaction_unique unique (host_id, transaction_id)
)
-- As replay.transaction.
with (autovacuum_freeze_min_age = 0, autovacuum_vacuum_insert_scale_factor = 0.05);
comment on table replay.outbox is
'The order in which live processors read the transactions of a lane.';

create unlogged table replay.outbox_pending (
  xact_id xid8 not null,
  append_order int not null,
  host_id uuid not null,
  lane int not null,
  transaction_id text not null,
  primary key (xact_id, append_order)
)
-- A row an append, dead at its COMMIT: vacuumed early and without pauses.
with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0);
comment on table replay.outbox_pending is
'Appended in this database transaction and not numbered yet; empty outside of one. Unlogged: no
row ever survives its transaction.';
