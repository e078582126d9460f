create or replace function replay._decide_action(
  p_action replay.pending_action,
  p_action_id uuid,
  p_named_impact jsonb
)
  returns replay.pending_action
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_action replay.pending_action;
  v_refusal text;
begin
  select a.* into v_action
  from replay.pending_action a
  where a.action_id = p_action_id and (a.kind, a.subject) = (p_action.kind, p_action.subject)
  for no key update;

  v_refusal := case
    when v_action.action_id is null then 'RP106'
    when v_action.status <> 'AWAITING_APPROVAL' then 'RP207'
    when v_action.expires_at <= replay._now() then 'RP223'
    when v_action.requested_by = replay._actor() then 'RP210'
    when v_action.impact is distinct from p_named_impact
      or v_action.impact <> p_action.impact then 'RP224'
  end;
  if v_refusal is not null then
    -- The code is one of those above, each in the catalogue.
    raise exception 'action % cannot be decided: %', p_action_id, (
        select e.meaning from replay.error e where e.code = v_refusal)
      using errcode = v_refusal,
            detail = jsonb_build_object('action_id', p_action_id, 'status', v_action.status,
              'requested_by', v_action.requested_by, 'impact', p_action.impact),
            hint = 'Ask anew to see what it would do now; another person then names that.';
  end if;

  update replay.pending_action a
  set status = 'DONE', decided_by = replay._actor(), decided_at = replay._now(),
    decision_reason = p_action.reason
  where a.action_id = p_action_id
  returning * into v_action;
  return v_action;
end;
$$;

comment on function replay._decide_action is
'Let a second person take a step that another asked for, and return the action.

p_action: its kind, subject and reason, and the impact that it would have now. p_named_impact: what
the caller saw.
Raises RP106 when nobody asked for it; RP207 when it is decided; RP210 when the person who asked
decides; RP223 when it has expired; RP224 when the impact is another than was named or asked for.';

revoke all on function replay._decide_action from public;
