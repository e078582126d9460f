create or replace function replay._settle_chunk(p_request replay.request, p_woken_count bigint)
  returns void
  language sql
  volatile
begin atomic
  with lowered as (
    delete from replay.barrier b
    where (b.host_id, b.request_id) = (p_request.host_id, p_request.request_id)
    returning b.fence
  )
  select replay._audit(p_request.host_id, 'RUN_CHUNK_SETTLED',
    p_projection_id => p_request.projection_id, p_request_id => p_request.request_id,
    p_detail => jsonb_build_object('fence', p_request.fence, 'chunk_fence', r.fence,
      'chunk_no', r.chunk_count, 'barrier_count', c.barrier_count,
      'woken_count', p_woken_count))
  from (select min(l.fence) as fence, count(*) as barrier_count from lowered l) c
  -- Only the last chunk of a run can stand unsettled. Without one there is nothing to tell.
  join replay.run r
    on (r.host_id, r.request_id, r.fence) = (p_request.host_id, p_request.request_id, c.fence);
end;

comment on function replay._settle_chunk is
'Lower the barriers of a request, whose locks are held, and record which chunk that settles and who
does it.';

revoke all on function replay._settle_chunk from public;
