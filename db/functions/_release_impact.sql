create or replace function replay._release_impact(p_request replay.request)
  returns jsonb
  language sql
  volatile
begin atomic
  select jsonb_build_object(
    'fence', p_request.fence,
    'done_count', count(*) filter (where i.status <> 'PENDING'),
    'left_open_count', count(*) filter (where i.status = 'PENDING'),
    'barrier_count', (
      select count(*) from replay.barrier b
      where (b.host_id, b.request_id) = (p_request.host_id, p_request.request_id)))
  from replay.request_item i
  where (i.host_id, i.request_id) = (p_request.host_id, p_request.request_id);
end;

comment on function replay._release_impact is
'What releasing a request would leave: items done and left open, barriers lowered; and the fence, so
that a claim in between makes it another.';

revoke all on function replay._release_impact from public;
