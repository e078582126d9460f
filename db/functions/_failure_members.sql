create or replace function replay._failure_members(p_host_id uuid, p_failure_id uuid)
  returns jsonb
  language sql
  stable
begin atomic
  select jsonb_agg(
    jsonb_build_object('ordinal', m.ordinal, 'event_id', m.event_id, 'event_type', m.event_type,
      'event_schema', m.event_schema, 'aggregate_type', m.aggregate_type, 'aggregate_id',
      m.aggregate_id, 'aggregate_version', m.aggregate_version, 'graph_root', m.graph_root,
      'graph_revision', m.graph_revision, 'format', m.format, 'digest', encode(m.digest, 'hex'),
      'byte_count', m.byte_count, 'removed', m.is_removed)
    order by m.ordinal)
  from (
    select x.ordinal, x.event_id, x.event_type, x.event_schema, x.aggregate_type, x.aggregate_id,
      x.aggregate_version, x.graph_root, x.graph_revision, x.format, x.digest,
      octet_length(x.payload) as byte_count, false as is_removed
    from replay.failure_member x
    where x.host_id = p_host_id and x.failure_id = p_failure_id
    union all
    select r.ordinal, r.event_id, r.event_type, r.event_schema, r.aggregate_type, r.aggregate_id,
      r.aggregate_version, r.graph_root, r.graph_revision, r.format, r.digest, r.byte_count, true
    from replay.removed_member r
    where r.host_id = p_host_id and r.failure_id = p_failure_id
  ) m;
end;

comment on function replay._failure_members is
'The members of a failure without their payloads, as a JSON array.';

revoke all on function replay._failure_members from public;
