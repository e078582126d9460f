create or replace function replay._guard_failure_scope()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_allowed replay.failure_scope := old;
begin
  v_allowed.is_open := false;
  if new is not distinct from v_allowed then
    return new;
  end if;
  raise exception 'the scopes of failure % are kept as they were captured', old.failure_id
    using errcode = 'RP216',
          detail = jsonb_build_object('failure_id', old.failure_id, 'scope_type', old.scope_type,
            'scope_key', old.scope_key),
          hint = 'A scope is let go once, when its failure is resolved or waived.';
end;
$$;

comment on function replay._guard_failure_scope is
'Keep the scopes of a failure; each is let go once.

Raises RP216 when anything else would change.';

revoke all on function replay._guard_failure_scope from public;

create trigger failure_scope_guarded before update on replay.failure_scope
for each row execute function replay._guard_failure_scope();
