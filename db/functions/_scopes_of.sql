create or replace function replay._scopes_of(
  p_members replay.member_envelope[],
  p_transaction_id text
)
  returns replay.scope_range[]
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_scopes replay.scope_range[];
  v_broken text[];
begin
  with carried as (
    select s.*, s.version - lag(s.version) over (
      partition by s.scope_type, s.scope_key order by m.transaction_ordinal) as step
    from unnest(p_members) m
    cross join lateral (values
      ('AGGREGATE', replay._aggregate_key(m.aggregate_type, m.aggregate_id), m.aggregate_version),
      ('GRAPH_ROOT', m.graph_root, m.graph_revision)) s (scope_type, scope_key, version)
    where s.version is not null
  )
  select array_agg(
      row(s.scope_type, s.scope_key, s.first_version, s.last_version)::replay.scope_range
      order by s.scope_type collate "C", s.scope_key collate "C"),
    array_agg(s.scope_type || ' ' || s.scope_key) filter (where s.is_broken)
  into v_scopes, v_broken
  from (
    select c.scope_type, c.scope_key, min(c.version), max(c.version),
      -- Members of one root may share a revision: they are one change of it.
      bool_or(c.step <> 1 and (c.step <> 0 or c.scope_type = 'AGGREGATE'))
    from carried c
    group by c.scope_type, c.scope_key
  ) s (scope_type, scope_key, first_version, last_version, is_broken);

  if v_broken is not null then
    raise exception 'versions of one scope do not follow each other: %', v_broken[1]
      using errcode = 'RP005',
            detail = jsonb_build_object('transaction_id', p_transaction_id, 'scopes', v_broken),
            hint = 'Number the members of an aggregate one by one, in the order of their ordinals.';
  end if;
  return coalesce(v_scopes,
    array[row('TRANSACTION', p_transaction_id, null, null)::replay.scope_range]);
end;
$$;

comment on function replay._scopes_of is
'Collect the scopes of a transaction''s members with the versions it carries in each, by type and
key in byte order; the TRANSACTION scope when there is none that is ordered.

Raises RP005 unless the versions of each aggregate follow each other one by one, and the revisions
of each root one by one or staying equal, in the order of the ordinals.';

revoke all on function replay._scopes_of from public;
