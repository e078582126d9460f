create or replace function replay._timeline_items(p_host_id uuid, p_request_id uuid)
  returns table (audit_id bigint, place int, entry replay.timeline_entry)
  language sql
  stable
begin atomic
  with chunk as materialized (
    select a.audit_id, d.fence, d.first_item_no, d.last_item_no
    from replay.audit a
    cross join lateral jsonb_to_record(a.detail) d (fence bigint, first_item_no int,
      last_item_no int)
    where a.host_id = p_host_id and a.request_id = p_request_id
      and a.action in ('RUN_CHUNK_BEGUN', 'RUN_ABANDONED')
  )
  -- An attempt stands behind the beginning of its chunk, an abandoned one before the end of its
  -- run, which is when anybody knew.
  select (
      select max(c.audit_id) from chunk c
      where c.fence = a.fence and case a.result
        when 'ABANDONED' then c.first_item_no is null
        else a.item_no between c.first_item_no and c.last_item_no end),
    case a.result when 'ABANDONED' then 0 else 2 end,
    row(a.ended_at, 'ATTEMPT', r.claimed_by, a.fence, a.item_no,
      format('item %s %s%s', a.item_no, lower(replace(a.result, '_', ' ')), ': ' || a.error_code),
      jsonb_build_object('result', a.result, 'failure_id', i.failure_id, 'error_code',
        a.error_code, 'error_text', a.error_text, 'error_handler', a.error_handler, 'error_line',
        a.error_line))::replay.timeline_entry
  from replay.attempt a
  join replay.run r on (r.host_id, r.request_id, r.fence) = (a.host_id, a.request_id, a.fence)
  join replay.request_item i
    on (i.host_id, i.request_id, i.item_no) = (a.host_id, a.request_id, a.item_no)
  where a.host_id = p_host_id and a.request_id = p_request_id;
end;

comment on function replay._timeline_items is 'Each try of each item of a request.';

revoke all on function replay._timeline_items from public;
