create or replace function replay._merge_registry(
  p_registry_version int,
  p_entries jsonb,
  p_removed jsonb
)
  returns replay.registry_entry[]
  language sql
  stable
begin atomic
  with published as (
    select e.* from jsonb_populate_recordset(null::replay.registry_entry, p_entries) e
  ), gone as (
    select e.event_type, e.event_schema from published e
    union all
    select r.event_type, r.event_schema
    from jsonb_to_recordset(p_removed) r (event_type text, event_schema text)
  )
  select coalesce(array_agg(row(m.*)::replay.registry_entry), '{}')
  from (
    select e.*
    from replay.registry_entry e
    where e.registry_version = p_registry_version
      and (e.event_type, e.event_schema) not in (select g.event_type, g.event_schema from gone g)
    union all
    select e.* from published e
  ) m;
end;

comment on function replay._merge_registry is
'Combine the entries of a registry version with those to be published and without those to be
removed.';

revoke all on function replay._merge_registry from public;
