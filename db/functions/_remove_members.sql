create or replace function replay._remove_members(p_host_id uuid, p_failure_ids uuid[])
  returns replay.removal
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_removal replay.removal := row(cardinality(p_failure_ids), 0);
begin
  insert into replay.removed_member (host_id, failure_id, ordinal, event_id, event_type,
    event_schema, aggregate_type, aggregate_id, aggregate_version, graph_root, graph_revision,
    format, digest, byte_count, removed_at)
  select m.host_id, m.failure_id, m.ordinal, m.event_id, m.event_type, m.event_schema,
    m.aggregate_type, m.aggregate_id, m.aggregate_version, m.graph_root, m.graph_revision,
    m.format, m.digest, octet_length(m.payload), replay._now()
  from replay.failure_member m
  where m.host_id = p_host_id and m.failure_id = any (p_failure_ids);

  delete from replay.failure_member m
  where m.host_id = p_host_id and m.failure_id = any (p_failure_ids);

  with removed as (
    update replay.failure f
    set removed_at = replay._now()
    where f.host_id = p_host_id and f.failure_id = any (p_failure_ids)
    returning f.byte_count
  )
  select coalesce(sum(r.byte_count), 0) into v_removal.byte_count
  from removed r;

  update replay.archive a
  set failure_count = a.failure_count - v_removal.failure_count,
    byte_count = a.byte_count - v_removal.byte_count
  where a.host_id = p_host_id;
  return v_removal;
end;
$$;

comment on function replay._remove_members is
'Put the digests of the members of locked failures in the place of their payloads, and count it.';

revoke all on function replay._remove_members from public;
