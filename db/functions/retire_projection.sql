create or replace function replay.retire_projection(
  p_projection text,
  p_consumer_group text default 'default',
  p_reason text default null,
  p_action_id uuid default null,
  p_impact jsonb default null
)
  returns replay.pending_action
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_action replay.pending_action;
  v_projection replay.projection;
begin
  perform replay._require_read_committed();
  v_action.reason := replay._reason(p_reason);
  v_projection := replay._lock_projection(p_projection, p_consumer_group);
  if v_projection.status not in ('REGISTERED', 'PAUSED') then
    raise exception 'projection "%" is %', p_projection, v_projection.status
      using errcode = 'RP213', detail = jsonb_build_object('status', v_projection.status),
            hint = 'Pause it first, so that what retiring does stands still: pause_projection.';
  end if;
  v_action.kind := 'RETIRE_PROJECTION';
  v_action.subject := v_projection.projection_id::text;
  v_action.projection_id := v_projection.projection_id;
  v_action.impact := replay._retiring_impact(v_projection.projection_id);
  if p_action_id is null then
    return replay._ask_action(v_action);
  end if;

  v_action := replay._decide_action(v_action, p_action_id, p_impact);
  perform replay._retire(v_action);
  return v_action;
end;
$$;

comment on function replay.retire_projection is
'Give a paused projection up for good, by two people: the first call asks and shows the impact, a
second person''s call with that action and impact does it. Nothing is processed or replayed for it
any more, its plans are CANCELLED, and its failures no longer block appends; all rows stay.

p_action_id, p_impact: as the first call returned them; null: ask.
Raises RP001 without a reason; RP010 outside READ COMMITTED; RP101 when it is not registered; RP106
when nobody asked for this; RP207 when the action is decided, or a replay is in execution; RP210 when
the person who asked decides; RP213 when it is running or retired; RP223 when the action has expired;
RP224 when the impact is another by now.';

revoke all on function replay.retire_projection from public;
grant execute on function replay.retire_projection to replay_operator, replay_approver;
