create or replace function replay._registry_digest(
  p_registry_version int,
  p_entries replay.registry_entry[]
)
  returns bytea
  language sql
  stable
  return sha256(
    replay._frame('pyreplay.registry.v1')
    || int4send(p_registry_version)
    || int4send(cardinality(p_entries))
    || coalesce((
      select string_agg(
        replay._frame(e.event_type) || replay._frame(e.event_schema) || replay._frame(e.policy)
        || coalesce(replay._frame(e.data_schema), int4send(-1))
        || replay._frame(e.repair_disposition)
        || coalesce(replay._frame(e.repair_schema_version), int4send(-1))
        || replay._frame(e.side_effects),
        '' order by e.event_type collate "C", e.event_schema collate "C")
      from unnest(p_entries) e), ''));

comment on function replay._registry_digest is
'Digest one registry version.

sha256 over `pyreplay.registry.v1`, the version and the number of entries as 4 bytes big-endian
each, then per entry, in byte order of event type and event schema: event type, event schema,
policy, data schema, repair disposition, repair schema version, side effects. Every text is framed
by replay._frame; a null is the 4 bytes of -1.';

revoke all on function replay._registry_digest from public;
