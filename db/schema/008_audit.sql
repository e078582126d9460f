create table replay.audit (
  host_id uuid,
  audit_id bigint generated always as identity primary key,
  action text not null,
  actor text not null,
  reason text,
  projection_id int references replay.projection,
  request_id uuid,
  failure_id uuid,
  transaction_id text,
  detail jsonb not null default '{}',
  recorded_at timestamptz not null,
  constraint audit_reason_bounded check (octet_length(reason) <= 4000)
);
create index audit_by_request on replay.audit (host_id, request_id, audit_id)
where request_id is not null;
create index audit_by_failure on replay.audit (host_id, failure_id, audit_id)
where failure_id is not null;
comment on table replay.audit is
'Every command and transition: who, why, on what. Grows only; no payload.';
comment on column replay.audit.host_id is 'Null: of the whole database (registry, projections).';
