create or replace function replay._liveness_key(p_host_id uuid, p_request_id uuid)
  returns bigint
  language sql
  immutable
  return replay._lock_key('liveness ' || p_host_id || ' ' || p_request_id);

comment on function replay._liveness_key is
'Key of the session-level advisory lock that a holder of a request keeps while it lives.';

revoke all on function replay._liveness_key from public;
grant execute on function replay._liveness_key to replay_reader;
