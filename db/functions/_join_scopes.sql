create or replace function replay._join_scopes(
  p_scopes replay.carried_scope[],
  p_transaction_ids text[]
)
  returns replay.carried_scope[]
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_scopes replay.carried_scope[];
  v_is_stuck boolean;
begin
  select array_agg(row(j.place, j.scope_type, j.scope_key, j.first_version, j.last_version)
      ::replay.carried_scope),
    bool_or(j.is_stuck)
  into v_scopes, v_is_stuck
  from (
    select min(f.place), f.scope_type, f.scope_key, min(f.first_version), max(f.last_version),
      bool_or(f.first_version <> f.head + 1)
    from replay._followed_scopes(p_scopes) f
    group by f.scope_type, f.scope_key
  ) j (place, scope_type, scope_key, first_version, last_version, is_stuck);

  if v_is_stuck then
    perform replay._refuse_version(row(f.place, f.scope_type, f.scope_key, f.first_version,
      f.last_version)::replay.carried_scope, f.head, p_transaction_ids)
    from replay._followed_scopes(p_scopes) f
    where f.first_version <> f.head + 1
    order by f.place
    limit 1;
  end if;
  return v_scopes;
end;
$$;

comment on function replay._join_scopes is
'Make one of what several transactions of a call carry in a scope.

Raises RP203 when they do not follow each other there.';

revoke all on function replay._join_scopes from public;
