create or replace function replay._timeline_barriers(p_host_id uuid, p_request_id uuid)
  returns table (audit_id bigint, place int, entry replay.timeline_entry)
  language sql
  stable
begin atomic
  select null::bigint, 3, row(min(b.raised_at), 'BARRIER', null, b.fence, b.item_no,
    format('item %s bars %s scopes', b.item_no, count(*)),
    jsonb_build_object('scopes', jsonb_agg(b.scope_type || ' ' || b.scope_key
      order by b.scope_type, b.scope_key)))::replay.timeline_entry
  from replay.barrier b
  where b.host_id = p_host_id and b.request_id = p_request_id
  group by b.fence, b.item_no;
end;

comment on function replay._timeline_barriers is 'The barriers of a request that stand now.';

revoke all on function replay._timeline_barriers from public;
