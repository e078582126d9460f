create or replace function replay._carried_versions(p_members replay.member_envelope[])
  returns table (place int, scope_type text, scope_key text, version bigint, is_broken boolean)
  language sql
  immutable
begin atomic
  select c.place, c.scope_type, c.scope_key, c.version,
    -- Members of one root may share a revision: they are one change of it.
    c.step <> 1 and (c.step <> 0 or c.scope_type = 'AGGREGATE')
  from (
    select m.place, v.*, v.version - lag(v.version) over (
      partition by m.place, v.scope_type, v.scope_key order by m.transaction_ordinal) as step
    from unnest(p_members) m
    cross join lateral (values
      ('AGGREGATE', replay._aggregate_key(m.aggregate_type, m.aggregate_id), m.aggregate_version),
      ('GRAPH_ROOT', m.graph_root, m.graph_revision)) v (scope_type, scope_key, version)
    where v.version is not null
  ) c;
end;

comment on function replay._carried_versions is
'List the versions that members carry in each scope, and whether each does not follow the one before
in its transaction: those of an aggregate one by one, of a root one by one or staying equal.';

revoke all on function replay._carried_versions from public;
