create or replace function replay._is_held(
  p_host_id uuid,
  p_request_id uuid,
  p_lease_until timestamptz,
  p_holder_pooled boolean
)
  returns boolean
  language sql
  volatile
  return coalesce(p_lease_until > replay._now()
    and (p_holder_pooled
      or replay._liveness_holder(p_host_id, p_request_id) <> pg_backend_pid()), false);

comment on function replay._is_held is
'Whether another session executes a request now: its lease has not ended, and, unless it goes
through a pooler, it still has its liveness lock.';

revoke all on function replay._is_held from public;
grant execute on function replay._is_held to replay_reader;
