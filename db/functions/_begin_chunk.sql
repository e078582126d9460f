create or replace function replay._begin_chunk(p_request replay.request, p_items int[])
  returns void
  language sql
  volatile
begin atomic
  with begun as (
    update replay.run r
    set chunk_count = r.chunk_count + 1
    where (r.host_id, r.request_id, r.fence)
      = (p_request.host_id, p_request.request_id, p_request.fence)
    returning r.chunk_count
  )
  select replay._audit(p_request.host_id, 'RUN_CHUNK_BEGUN',
    p_projection_id => p_request.projection_id, p_request_id => p_request.request_id,
    p_detail => jsonb_build_object('fence', p_request.fence, 'chunk_no', b.chunk_count,
      'first_item_no', p_items[1], 'last_item_no', p_items[cardinality(p_items)],
      'item_count', cardinality(p_items), 'scope_count', (
        select count(*) from replay.barrier x
        where (x.host_id, x.request_id) = (p_request.host_id, p_request.request_id))))
  from begun b;
end;

comment on function replay._begin_chunk is
'Count a chunk whose barriers were raised, and record what it holds.';

revoke all on function replay._begin_chunk from public;
