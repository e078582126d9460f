create or replace function replay._move_projection(
  p_projection text,
  p_consumer_group text,
  p_from text,
  p_to text,
  p_reason text
)
  returns replay.projection
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_reason text := replay._reason(p_reason);
  v_projection replay.projection := replay._lock_projection(p_projection, p_consumer_group);
begin
  if v_projection.status = p_to then
    return v_projection;
  end if;
  if v_projection.status <> p_from then
    raise exception 'projection "%" is %, not %', p_projection, v_projection.status, p_from
      using errcode = 'RP213', detail = jsonb_build_object('status', v_projection.status),
            hint = 'Start it first: start_projection.';
  end if;

  update replay.projection p
  set status = p_to, pause_reason = case when p_to = 'PAUSED' then v_reason end
  where p.projection_id = v_projection.projection_id
  returning * into v_projection;
  delete from replay.failure_streak s
  where s.projection_id = v_projection.projection_id;
  perform replay._audit(null, 'PROJECTION_' || p_to, v_reason,
    p_projection_id => v_projection.projection_id);
  return v_projection;
end;
$$;

comment on function replay._move_projection is
'Move a projection from one status to another, audited.

Raises RP001 without a reason; RP101 when it is not registered; RP213 when it is in neither status.';

revoke all on function replay._move_projection from public;
