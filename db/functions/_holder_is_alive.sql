create or replace function replay._holder_is_alive(p_host_id uuid, p_request_id uuid)
  returns boolean
  language sql
  volatile
  return coalesce(replay._liveness_holder(p_host_id, p_request_id) <> pg_backend_pid(), false);

comment on function replay._holder_is_alive is
'Whether another session holds the liveness lock of a request.';

revoke all on function replay._holder_is_alive from public;
grant execute on function replay._holder_is_alive to replay_reader;
