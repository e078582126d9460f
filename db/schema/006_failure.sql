-- Canonical failures: complete transactions, kept until healed. Immutable but for their lifecycle.

create table replay.failure (
  host_id uuid not null,
  failure_id uuid not null,
  projection_id int not null references replay.projection,
  transaction_id text not null,
  status text not null,
  fingerprint bytea not null,
  registry_version int not null references replay.registry,
  replayable boolean not null,
  member_count int not null,
  byte_count int not null,
  lane int not null,
  source_offset bigint not null,
  error_code text not null,
  error_text text,
  error_handler text,
  error_line text,
  error_constraint text,
  error_table text,
  error_column text,
  captured_at timestamptz not null,
  resolution_code text,
  resolved_at timestamptz,
  resolved_by_request_id uuid,
  removed_at timestamptz,
  primary key (host_id, failure_id),
  constraint failure_transaction_unique unique (host_id, projection_id, transaction_id),
  constraint failure_status check (status in ('OPEN', 'RESOLVED', 'WAIVED')),
  constraint failure_resolution check (
    (status = 'OPEN') = (resolution_code is null) and (status = 'OPEN') = (resolved_at is null))
);
create index failure_open on replay.failure (host_id, captured_at, failure_id)
where status = 'OPEN';
create index failure_listed on replay.failure (host_id, captured_at, failure_id);
create index failure_removable on replay.failure (host_id, resolved_at)
where status <> 'OPEN' and removed_at is null;
comment on table replay.failure is
'One failed transaction of one projection, whole. Only its lifecycle columns ever change.';
comment on column replay.failure.fingerprint is 'See replay._fingerprint.';
comment on column replay.failure.replayable is
'False: a member is not replayable; planning is refused with EVENT_NOT_REPLAYABLE.';
comment on column replay.failure.error_code is
'SQLSTATE, exception class, or HANDLER_MISSING, HANDLER_TIMEOUT, HANDLER_CONTRACT,
HANDLER_CRASHED.';
comment on column replay.failure.error_text is
'Only what a handler said in a SafeError; never a server message, which may quote a payload.';
comment on column replay.failure.removed_at is 'When retention removed its payloads.';
comment on column replay.failure.error_line is 'Source file and line of the handler that failed.';

create table replay.failure_member (
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
  payload bytea not null,
  digest bytea not null generated always as (sha256(payload)) stored,
  primary key (host_id, failure_id, ordinal),
  foreign key (host_id, failure_id) references replay.failure,
  constraint failure_member_format check (format in ('CLOUDEVENTS_JSON'))
);
comment on table replay.failure_member is 'The members of a failed transaction, exact bytes.';
do $$
begin
  alter table replay.failure_member alter column payload set compression lz4;
exception when feature_not_supported then
  null; -- This server was built without it and keeps pglz.
end;
$$;

create table replay.failure_scope (
  host_id uuid not null,
  failure_id uuid not null,
  projection_id int not null,
  scope_type text not null,
  scope_key text not null,
  first_version bigint,
  last_version bigint,
  is_open boolean not null,
  primary key (host_id, failure_id, scope_type, scope_key),
  foreign key (host_id, failure_id) references replay.failure
);
-- Both the rule (at most one OPEN failure a projection and ordered scope) and the probe of
-- append_transaction, whose cost it keeps constant at any number of open failures.
create unique index failure_scope_open
on replay.failure_scope (host_id, scope_type, scope_key, projection_id)
where is_open and scope_type <> 'TRANSACTION';
comment on table replay.failure_scope is
'The scopes a failure holds. is_open mirrors its status for the partial unique index.';

create type replay.error_report as (
  ord int,
  error_code text,
  error_text text,
  error_handler text,
  error_line text,
  error_constraint text,
  error_table text,
  error_column text
);
comment on type replay.error_report is
'What a driver says of a transaction that failed: which item of the batch, and of the error only
what cannot quote a payload. See docs/contract.md.';
