create or replace function replay._abandon_run(p_request replay.request)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  update replay.run r
  set status = 'ABANDONED', ended_at = replay._now()
  where (r.host_id, r.request_id, r.fence)
    = (p_request.host_id, p_request.request_id, p_request.fence)
    and r.status = 'RUNNING';
  if not found then
    return;
  end if;

  insert into replay.attempt (host_id, request_id, item_no, fence, result, ended_at)
  select i.host_id, i.request_id, i.item_no, p_request.fence, 'ABANDONED', replay._now()
  from replay.request_item i
  where (i.host_id, i.request_id) = (p_request.host_id, p_request.request_id)
    and i.status = 'PENDING'
    -- Barriers of a fence before are those of a holder that was written down as dead already.
    and exists (
      select from replay.barrier b
      where (b.host_id, b.request_id, b.item_no, b.fence)
        = (i.host_id, i.request_id, i.item_no, p_request.fence));
  perform replay._audit(p_request.host_id, 'RUN_ABANDONED',
    p_projection_id => p_request.projection_id, p_request_id => p_request.request_id,
    p_detail => jsonb_build_object('fence', p_request.fence));
end;
$$;

comment on function replay._abandon_run is
'Write down that the former holder of a request died: its run, and the items it had begun.';

revoke all on function replay._abandon_run from public;
