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
      'byte_count', octet_length(m.payload))
    order by m.ordinal)
  from replay.failure_member m
  where m.host_id = p_host_id and m.failure_id = p_failure_id;
end;

comment on function replay._failure_members is
'The members of a failure without their payloads, as a JSON array.';

revoke all on function replay._failure_members from public;
