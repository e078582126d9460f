-- What functions return that no table or view is. Requests and items are read as the views
-- request_status and item.

create type replay.failure_summary as (
  host_id uuid,
  failure_id uuid,
  projection text,
  consumer_group text,
  transaction_id text,
  status text,
  replayable boolean,
  member_count int,
  byte_count int,
  scopes replay.scope_range[],
  error_code text,
  error_text text,
  error_handler text,
  error_line text,
  error_constraint text,
  error_table text,
  error_column text,
  captured_at timestamptz,
  resolution_code text,
  resolved_at timestamptz,
  resolved_by_request_id uuid
);
comment on type replay.failure_summary is 'A failed transaction, as lists show it.';

create type replay.failure_detail as (
  host_id uuid,
  failure_id uuid,
  projection text,
  consumer_group text,
  transaction_id text,
  status text,
  replayable boolean,
  member_count int,
  byte_count int,
  scopes replay.scope_range[],
  error_code text,
  error_text text,
  error_handler text,
  error_line text,
  error_constraint text,
  error_table text,
  error_column text,
  captured_at timestamptz,
  resolution_code text,
  resolved_at timestamptz,
  resolved_by_request_id uuid,
  registry_version int,
  fingerprint bytea,
  lane int,
  source_offset bigint,
  members jsonb,
  observation_count bigint,
  waiting_count bigint
);
comment on type replay.failure_detail is
'Everything kept of a failed transaction but its payloads.';
comment on column replay.failure_detail.members is
'An array of objects, one a member: envelope, digest and size, no payload.';
comment on column replay.failure_detail.observation_count is 'Further deliveries of it.';
comment on column replay.failure_detail.waiting_count is
'Deferred transactions that wait for it, directly or through others.';

create type replay.request_preview as (
  host_id uuid,
  projection text,
  consumer_group text,
  strategy text,
  item_count int,
  member_count int,
  byte_count bigint,
  registry_versions int[],
  items jsonb,
  waiting_count bigint,
  waiting jsonb
);
comment on type replay.request_preview is
'What a plan of a selection would hold, and what waits behind it.';
comment on column replay.request_preview.items is
'An array of objects in the order of the plan: item_no, failure_id, transaction_id, error_code,
scopes.';
comment on column replay.request_preview.waiting_count is
'Deferred transactions that wait for the items. They are no items: they flow once these are done.';
comment on column replay.request_preview.waiting is
'An array of objects, one a scope: scope_type, scope_key, first_version, last_version,
transaction_count of what waits in it.';

create type replay.timeline_entry as (
  at timestamptz,
  kind text,
  actor text,
  fence bigint,
  item_no int,
  summary text,
  detail jsonb
);
comment on type replay.timeline_entry is 'One thing that happened to a request.';
comment on column replay.timeline_entry.kind is
'COMMAND, RUN, CHUNK, ATTEMPT, DRAIN or BARRIER (one that stands).';
comment on column replay.timeline_entry.fence is
'The run it belongs to; of a chunk that is settled, the run that settled it.';
