create or replace function replay._scope_lock_key(
  p_host_id uuid,
  p_projection_id int,
  p_scope_type text,
  p_scope_key text
)
  returns bigint
  language sql
  immutable
  -- Cast: joining what is no text is only stable, and would keep this from inlining.
  return replay._lock_key('scope ' || p_host_id::text || ' ' || p_projection_id::text || ' '
    || p_scope_type || ' ' || p_scope_key);

comment on function replay._scope_lock_key is
'Key of the advisory lock of one scope in one projection. Two scopes may share a key: they then
exclude each other, which costs time and breaks nothing.';

revoke all on function replay._scope_lock_key from public;
