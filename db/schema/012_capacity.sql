-- What is kept, how much of it there may be, and when it may go.

create table replay.archive (
  host_id uuid primary key,
  failure_count bigint not null default 0,
  byte_count bigint not null default 0,
  soft_limit bigint not null default 8589934592,
  hard_limit bigint not null default 10737418240,
  constraint archive_limits check (0 <= soft_limit and soft_limit <= hard_limit)
)
-- One update a batch that captures.
with (fillfactor = 50);
-- Both who claims and who finds nothing to claim ask for the full ones.
create index archive_full on replay.archive (host_id) where byte_count >= hard_limit;
comment on table replay.archive is
'How much is kept of the failures of a host, counted where it is captured and removed. A host
without a row has nothing.';
comment on column replay.archive.byte_count is 'Bytes of payload kept with failures.';
comment on column replay.archive.soft_limit is 'Bytes; from here on health warns. 8 GiB.';
comment on column replay.archive.hard_limit is
'Bytes; from here on the sources of the host stop. 10 GiB. A batch that began below may end above.';

create table replay.legal_hold (
  host_id uuid not null,
  hold_id uuid not null,
  failure_id uuid,
  reason text not null,
  placed_by text not null,
  placed_at timestamptz not null,
  released_by text,
  released_at timestamptz,
  release_reason text,
  primary key (host_id, hold_id),
  foreign key (host_id, failure_id) references replay.failure
);
create index legal_hold_standing on replay.legal_hold (host_id, failure_id)
where released_at is null;
comment on table replay.legal_hold is
'While one stands, retention leaves the payloads of a failure alone.';
comment on column replay.legal_hold.failure_id is 'Null: every failure of the host.';

create table replay.removed_member (
  host_id uuid not null,
  failure_id uuid not null,
  ordinal int not null,
  event_id text not null,
  event_type text not null,
  event_schema text not null,
  aggregate_type text,
  aggregate_id text,
  aggregate_version bigint,
  graph_root text,
  graph_revision bigint,
  format text not null,
  digest bytea not null,
  byte_count int not null,
  removed_at timestamptz not null,
  primary key (host_id, failure_id, ordinal),
  foreign key (host_id, failure_id) references replay.failure
);
comment on table replay.removed_member is
'What is left of a member whose payload retention has removed: that it was there, and its digest.';

create table replay.failure_streak (
  projection_id int primary key references replay.projection,
  error_code text not null,
  failed_count bigint not null,
  decided_count bigint not null
);
comment on table replay.failure_streak is
'How many of the recent transactions of a projection have failed, and with which error most; no row:
none. When it is most of 250, the projection pauses itself.';

create type replay.removal as (failure_count bigint, byte_count bigint);
comment on type replay.removal is 'What retention has removed in one call.';
