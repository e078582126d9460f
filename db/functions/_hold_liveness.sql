create or replace function replay._hold_liveness(p_host_id uuid, p_request_id uuid)
  returns boolean
  language sql
  volatile
  -- The lock counts; taken twice and given back once, it would stay.
  return case replay._liveness_holder(p_host_id, p_request_id)
    when pg_backend_pid() then true
    else pg_try_advisory_lock(replay._liveness_key(p_host_id, p_request_id))
  end;

comment on function replay._hold_liveness is
'Take the liveness lock of a request for this session, once, and tell whether it has it.';

revoke all on function replay._hold_liveness from public;
