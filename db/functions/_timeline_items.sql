create or replace function replay._timeline_items(p_host_id uuid, p_request_id uuid)
  returns setof replay.timeline_entry
  language sql
  stable
begin atomic
  select a.ended_at, 'ATTEMPT', r.claimed_by, a.fence, a.item_no,
    format('item %s %s%s', a.item_no, lower(replace(a.result, '_', ' ')), ': ' || a.error_code),
    jsonb_build_object('result', a.result, 'failure_id', i.failure_id, 'error_code',
      a.error_code, 'error_text', a.error_text, 'error_handler', a.error_handler, 'error_line',
      a.error_line)
  from replay.attempt a
  join replay.run r on (r.host_id, r.request_id, r.fence) = (a.host_id, a.request_id, a.fence)
  join replay.request_item i
    on (i.host_id, i.request_id, i.item_no) = (a.host_id, a.request_id, a.item_no)
  where a.host_id = p_host_id and a.request_id = p_request_id
  union all
  select min(b.raised_at), 'BARRIER', null, b.fence, b.item_no,
    format('item %s bars %s scopes', b.item_no, count(*)),
    jsonb_build_object('scopes', jsonb_agg(b.scope_type || ' ' || b.scope_key
      order by b.scope_type, b.scope_key))
  from replay.barrier b
  where b.host_id = p_host_id and b.request_id = p_request_id
  group by b.fence, b.item_no;
end;

comment on function replay._timeline_items is
'Each try of each item of a request, and the barriers that stand.';

revoke all on function replay._timeline_items from public;
