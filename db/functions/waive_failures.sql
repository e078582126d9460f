create or replace function replay.waive_failures(
  p_host_id uuid,
  p_failure_ids uuid[],
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
  v_action replay.pending_action;
  v_failure_ids uuid[];
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_action.reason := replay._reason(p_reason);
  v_failure_ids := replay._lock_waivable(p_host_id, p_failure_ids);
  v_action.kind := 'WAIVE_FAILURES';
  v_action.subject := encode(sha256(convert_to(v_failure_ids::text, 'UTF8')), 'hex');
  v_action.host_id := p_host_id;
  v_action.impact := replay._waiver_impact(p_host_id, v_failure_ids);
  if p_action_id is null then
    return replay._ask_action(v_action);
  end if;

  v_action := replay._decide_action(v_action, p_action_id, p_impact);
  perform replay._waive(v_action, v_failure_ids);
  return v_action;
end;
$$;

comment on function replay.waive_failures is
'Give failures up for good, by two people: the first call asks and shows the impact, a second
person''s call with the same failures, that action and impact does it. They become WAIVED and can
never be replayed; no progress moves. Only what carries no aggregate and no graph can be waived: in
an ordered scope nothing behind it would ever be next.

p_failure_ids: 1 to 1000. p_action_id, p_impact: as the first call returned them; null: ask.
Raises RP001 without a reason or failures; RP010 outside READ COMMITTED; RP102 when there is no such
failure; RP106 when nobody asked for this; RP207 when one is not OPEN, or the action is decided;
RP210 when the person who asked decides; RP223 when the action has expired; RP224 when the impact is
another by now; RP225 when one holds an aggregate or a graph.';

revoke all on function replay.waive_failures from public;
grant execute on function replay.waive_failures to replay_operator, replay_approver;
