create or replace function replay.report_fault(
  p_projection text,
  p_consumer_group text default 'default',
  p_host_id uuid default null,
  p_lane int default null,
  p_fault_code text default null
)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_hosts uuid[] := replay._own_hosts(p_host_id);
  v_projection_id int
    := (replay._started_projection(p_projection, p_consumer_group)).projection_id;
begin
  if coalesce(p_fault_code, '') = '' then
    raise exception 'a fault has no code'
      using errcode = 'RP001', detail = '{"argument": "fault_code"}',
            hint = 'Give the SQLSTATE, or the class of the exception.';
  end if;
  -- The batch that would have brought a new position was rolled back.
  perform replay._add_positions(v_projection_id, v_hosts, p_lane);

  update replay.position p
  set fault_code = left(p_fault_code, 100), fault_at = replay._now()
  from (
    select x.host_id, x.projection_id, x.lane
    from replay.position x
    join replay.outbox_lane l on (l.host_id, l.lane) = (x.host_id, x.lane)
    where x.projection_id = v_projection_id
      and (v_hosts is null or x.host_id = any (v_hosts))
      and (p_lane is null or x.lane = p_lane)
      and (
        x.last_offset < l.last_offset
        or exists (
          select from replay.wake w
          where (w.host_id, w.projection_id, w.lane) = (x.host_id, x.projection_id, x.lane)))
    for no key update of x skip locked
  ) stuck
  where (p.host_id, p.projection_id, p.lane) = (stuck.host_id, stuck.projection_id, stuck.lane);
end;
$$;

comment on function replay.report_fault is
'Note on the positions that have something to do why a whole batch was rolled back; the next
completed batch clears it. Health turns red meanwhile.
p_fault_code: SQLSTATE or exception class.

Raises RP001 without a code; RP101 when the projection is not registered; RP213 when it has not
started or is retired.';

revoke all on function replay.report_fault from public;
grant execute on function replay.report_fault to replay_processor;
