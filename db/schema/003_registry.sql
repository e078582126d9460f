-- The registry: what every (event type, event schema) is, by version. A version is a complete
-- snapshot and never changes, so that what pins it is read for ever as it was meant.

create table replay.registry (
  registry_version int primary key,
  digest bytea not null unique,
  published_at timestamptz not null,
  published_by text not null
);
comment on table replay.registry is
'One row a published registry version. The highest version is the current one.';
comment on column replay.registry.digest is
'sha256 over all entries of the version, framed and in order; append_transaction asks for it.';

create table replay.registry_entry (
  registry_version int not null references replay.registry,
  event_type text not null,
  event_schema text not null,
  policy text not null,
  data_schema text,
  repair_disposition text not null,
  repair_schema_version text,
  side_effects text not null,
  primary key (registry_version, event_type, event_schema),
  constraint registry_entry_policy check (
    policy in ('GRAPH_ROOT', 'AGGREGATE_VERSION', 'TRANSACTION_ONLY', 'NOT_REPLAYABLE')),
  constraint registry_entry_repair_disposition check (repair_disposition in
    ('SCHEMA_REPAIR', 'FIX_AND_EXACT_REPLAY_ONLY', 'NOT_REPAIRABLE_UNORDERED')),
  constraint registry_entry_side_effects check (side_effects in ('NONE', 'REPLAY_EXCLUDED'))
);
comment on table replay.registry_entry is 'What one event type at one event schema is.';
comment on column replay.registry_entry.policy is
'The strongest ordering evidence that its events must carry.';
comment on column replay.registry_entry.data_schema is
'JSON Schema of the data, as published; null: any JSON object (structural).';
comment on column replay.registry_entry.side_effects is
'NONE, or REPLAY_EXCLUDED: a batch of its own, and its failures cannot be planned.';
