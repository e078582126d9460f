create or replace function replay.start_projection(
  p_projection text,
  p_consumer_group text default 'default',
  p_at text default 'BEGINNING'
)
  returns replay.projection
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_projection replay.projection;
begin
  perform replay._check_choice('at', p_at, '{BEGINNING,NOW}');
  v_projection := replay._lock_projection(p_projection, p_consumer_group);
  if v_projection.status <> 'REGISTERED' then
    if v_projection.start_at = p_at then
      return v_projection;
    end if;
    raise exception 'projection "%" has started at % already', p_projection, v_projection.start_at
      using errcode = 'RP213',
            detail = jsonb_build_object('status', v_projection.status, 'start_at', v_projection.start_at),
            hint = 'A start is fixed once. Register a projection of another name or consumer group.';
  end if;

  if p_at = 'NOW' then
    perform replay._start_now(v_projection.projection_id);
  else
    -- Else the first processor would add them in its first batch, and others find none meanwhile.
    perform replay._add_positions(v_projection.projection_id, null, null);
  end if;

  update replay.projection p
  set status = 'RUNNING', start_at = p_at, started_at = replay._now()
  where p.projection_id = v_projection.projection_id
  returning * into v_projection;
  -- Behind the update, which has waited for who prunes.
  if p_at = 'BEGINNING' and exists (select from replay.outbox_lane l where l.pruned_offset > 0) then
    raise exception 'the beginning of the outbox is pruned'
      using errcode = 'RP227', detail = '{}', hint = 'Start it at NOW.';
  end if;
  perform replay._audit(null, 'PROJECTION_STARTED', p_projection_id => v_projection.projection_id,
    p_detail => jsonb_build_object('at', p_at));
  return v_projection;
end;
$$;

comment on function replay.start_projection is
'Start a registered projection, once, and return it.

p_at BEGINNING: it reads everything ever appended. NOW: it reads what is appended from here on, and
each scope goes on right behind the version it has at this moment.
Raises RP001 when p_at is neither; RP101 when it is not registered; RP213 when it has started
elsewhere; RP227 at the BEGINNING of an outbox that was pruned.';

revoke all on function replay.start_projection from public;
grant execute on function replay.start_projection to replay_operator;
