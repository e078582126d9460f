create or replace function replay._audit(
  p_host_id uuid,
  p_action text,
  p_reason text default null,
  p_projection_id int default null,
  p_request_id uuid default null,
  p_failure_id uuid default null,
  p_transaction_id text default null,
  p_detail jsonb default '{}'
)
  returns void
  language sql
  volatile
begin atomic
  insert into replay.audit (host_id, action, actor, reason, projection_id, request_id, failure_id,
    transaction_id, detail, recorded_at)
  values (p_host_id, p_action, replay._actor(), p_reason, p_projection_id, p_request_id,
    p_failure_id, p_transaction_id, p_detail, replay._now());
end;

comment on function replay._audit is
'Record a command or a transition: who did what to what, and why.

p_host_id is null for what concerns the whole database. p_detail holds no payload.';

revoke all on function replay._audit from public;
