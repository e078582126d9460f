create or replace function replay._failure_scopes(p_host_id uuid, p_failure_id uuid)
  returns replay.scope_range[]
  language sql
  stable
begin atomic
  select array_agg(
    row(s.scope_type, s.scope_key, s.first_version, s.last_version)::replay.scope_range
    order by s.scope_type, s.scope_key)
  from replay.failure_scope s
  where s.host_id = p_host_id and s.failure_id = p_failure_id;
end;

comment on function replay._failure_scopes is
'The scopes of a failure and the versions it carries in each.';

revoke all on function replay._failure_scopes from public;
