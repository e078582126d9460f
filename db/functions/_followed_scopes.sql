create or replace function replay._followed_scopes(p_scopes replay.carried_scope[])
  returns table (place int, scope_type text, scope_key text, first_version bigint,
    last_version bigint, head bigint)
  language sql
  immutable
begin atomic
  select s.place, s.scope_type, s.scope_key, s.first_version, s.last_version,
    lag(s.last_version) over (partition by s.scope_type, s.scope_key order by s.place)
  from unnest(p_scopes) s;
end;

comment on function replay._followed_scopes is
'List scopes with the version at which the transaction before in the same call leaves them.';

revoke all on function replay._followed_scopes from public;
