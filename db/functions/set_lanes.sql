create or replace function replay.set_lanes(p_host_id uuid, p_lane_count int)
  returns replay.host
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_host replay.host;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  if p_host_id is null or p_lane_count is null or p_lane_count not between 1 and 1024 then
    raise exception 'a host has 1 to 1024 lanes, not %', p_lane_count
      using errcode = 'RP001',
            detail = jsonb_build_object('argument', 'lane_count', 'found', p_lane_count),
            hint = 'Give a host and a number of lanes from 1 to 1024.';
  end if;

  insert into replay.host as h (host_id, lane_count)
  values (p_host_id, p_lane_count)
  on conflict (host_id) do update set lane_count = excluded.lane_count
  where h.lane_count <= excluded.lane_count
  returning * into v_host;
  if not found then
    raise exception 'the host has more than % lanes already', p_lane_count
      using errcode = 'RP001',
            detail = jsonb_build_object('argument', 'lane_count', 'found', p_lane_count),
            hint = 'Lanes are only ever added: an offset in a lane stays where it is.';
  end if;

  perform replay._audit(p_host_id, 'LANES_SET',
    p_detail => jsonb_build_object('lane_count', p_lane_count));
  return v_host;
end;
$$;

comment on function replay.set_lanes is
'Give a host more outbox lanes, so that more live processors can share its work.

Raises RP001 when the number is not from 1 to 1024, or smaller than what the host has; RP010 outside
of READ COMMITTED.';

revoke all on function replay.set_lanes from public;
grant execute on function replay.set_lanes to replay_operator;
