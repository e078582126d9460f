create or replace function replay._start_now(p_projection_id int)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  -- Offsets are given at COMMIT under this table's row locks. Nobody can number while we hold it,
  -- so the positions and the stream heads read below belong to the same instant.
  lock table replay.outbox_lane in share row exclusive mode;

  insert into replay.position (host_id, projection_id, lane, last_offset)
  select l.host_id, p_projection_id, l.lane, l.last_offset
  from replay.outbox_lane l;

  insert into replay.progress (host_id, projection_id, scope_type, scope_key, version)
  select h.host_id, p_projection_id, h.scope_type, h.scope_key, h.version
  from replay.stream_head h;
end;
$$;

comment on function replay._start_now is
'Place a projection behind everything appended so far: positions and progress of one instant.';

revoke all on function replay._start_now from public;
