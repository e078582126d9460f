create or replace function replay._scopes_of(
  p_members replay.member_envelope[],
  p_transaction_ids text[]
)
  returns replay.carried_scope[]
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_scopes replay.carried_scope[];
  v_is_broken boolean;
begin
  select array_agg(row(s.place, s.scope_type, s.scope_key, s.first_version, s.last_version)
      ::replay.carried_scope),
    bool_or(s.is_broken)
  into v_scopes, v_is_broken
  from (
    select c.place, c.scope_type, c.scope_key, min(c.version), max(c.version), bool_or(c.is_broken)
    from replay._carried_versions(p_members) c
    group by c.place, c.scope_type, c.scope_key
  ) s (place, scope_type, scope_key, first_version, last_version, is_broken);

  if v_is_broken then
    perform replay._refuse_versions(p_members, p_transaction_ids);
  end if;
  return v_scopes;
end;
$$;

comment on function replay._scopes_of is
'Collect the ordered scopes of each transaction with the versions it carries in them; null when
there is none.

Raises RP005 unless the versions of each aggregate follow each other one by one, and the revisions
of each root one by one or staying equal, in the order of the ordinals.';

revoke all on function replay._scopes_of from public;
