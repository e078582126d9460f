create or replace function replay.release_request(
  p_host_id uuid,
  p_request_id uuid,
  p_reason text,
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
  v_reason text := replay._reason(p_reason);
  v_request replay.request;
  v_action replay.pending_action;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_request := replay._lock_idle_request(p_host_id, p_request_id);
  perform replay._check_request_state(v_request, '{INSTALLING_BARRIER,RUNNING}');
  v_action.kind := 'RELEASE_REQUEST';
  v_action.subject := p_request_id::text;
  v_action.host_id := p_host_id;
  v_action.request_id := p_request_id;
  v_action.projection_id := v_request.projection_id;
  v_action.impact := replay._release_impact(v_request);
  v_action.reason := v_reason;
  if p_action_id is null then
    return replay._ask_action(v_action);
  end if;

  v_action := replay._decide_action(v_action, p_action_id, p_impact);
  perform replay._release(v_request, v_reason);
  return v_action;
end;
$$;

comment on function replay.release_request is
'End an abandoned execution, by two people: the first call asks and shows the impact, a second
person''s call with that action and impact does it. Barriers are lowered under their scope locks, the
fence rises and the request is FAILED with RELEASED. Items that are done stay done; the other
failures stay OPEN, no progress moves, and what waits behind them goes on waiting.

p_action_id, p_impact: as the first call returned them; null: ask.
Raises RP001 without a reason; RP010 outside READ COMMITTED; RP103 when there is no such request;
RP106 when nobody asked for this; RP207 when the request is not in execution, or the action is
decided; RP209 when its plan has expired; RP210 when the person who asked decides; RP212 while somebody alive executes it; RP223 when
the action has expired; RP224 when the impact is another by now.';

revoke all on function replay.release_request from public;
grant execute on function replay.release_request to replay_operator, replay_approver;
