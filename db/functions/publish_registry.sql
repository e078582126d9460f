create or replace function replay.publish_registry(p_entries jsonb, p_removed jsonb default '[]')
  returns replay.registry
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_registry replay.registry;
  v_entries replay.registry_entry[];
begin
  perform replay._require_read_committed();
  perform replay._check_entries(p_entries);
  -- One publisher at a time, each adding to what the one before it committed; readers go on.
  lock table replay.registry in share row exclusive mode;
  perform replay._check_removed(p_entries, p_removed);

  select r.* into v_registry from replay.registry r order by r.registry_version desc limit 1;
  v_entries := replay._merge_registry(v_registry.registry_version, p_entries, p_removed);
  if v_registry.digest = replay._registry_digest(v_registry.registry_version, v_entries) then
    return v_registry;
  end if;

  v_registry.registry_version := coalesce(v_registry.registry_version, 0) + 1;
  insert into replay.registry (registry_version, digest, published_at, published_by)
  values (v_registry.registry_version,
    replay._registry_digest(v_registry.registry_version, v_entries), replay._now(),
    replay._actor())
  returning * into v_registry;
  insert into replay.registry_entry (registry_version, event_type, event_schema, policy,
    data_schema, repair_disposition, repair_schema_version, side_effects)
  select v_registry.registry_version, e.event_type, e.event_schema, e.policy, e.data_schema,
    e.repair_disposition, e.repair_schema_version, e.side_effects
  from unnest(v_entries) e;

  perform replay._audit(null, 'REGISTRY_PUBLISHED', p_detail => jsonb_build_object(
    'registry_version', v_registry.registry_version, 'digest', encode(v_registry.digest, 'hex'),
    'entry_count', cardinality(v_entries)));
  return v_registry;
end;
$$;

comment on function replay.publish_registry is
'Add entries to the registry, replace or remove some, and return the version that holds the result.

Without a change that is the current version; otherwise a new one, which never changes.
p_entries is an array of {event_type, event_schema, policy, data_schema, repair_disposition,
repair_schema_version, side_effects}: data_schema is a JSON Schema as text, or null for any object.
p_removed is an array of {event_type, event_schema}.
The digest of a version is that of replay._registry_digest: sha256 over `pyreplay.registry.v1`,
version and entry count as 4 bytes each, and the entries in byte order of type and schema, every
text framed by its length in 4 bytes.
Raises RP007 when an entry is malformed or contradicts itself: an ordered event that cannot be
replayed or repaired, SCHEMA_REPAIR without data schema or repair schema; RP010 outside of READ
COMMITTED; RP206 when stored events use what is to be removed.';

revoke all on function replay.publish_registry from public;
grant execute on function replay.publish_registry to replay_operator;
