create or replace function replay._ask_action(p_action replay.pending_action)
  returns replay.pending_action
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_action replay.pending_action;
begin
  -- What nobody can decide any more makes room.
  delete from replay.pending_action a
  where (a.kind, a.subject) = (p_action.kind, p_action.subject)
    and a.status = 'AWAITING_APPROVAL'
    and (a.expires_at <= replay._now() or a.impact <> p_action.impact);

  insert into replay.pending_action (action_id, host_id, kind, subject, request_id, projection_id,
    impact, status, reason, requested_by, requested_at, expires_at)
  values (gen_random_uuid(), p_action.host_id, p_action.kind, p_action.subject,
    p_action.request_id, p_action.projection_id, p_action.impact, 'AWAITING_APPROVAL',
    p_action.reason, replay._actor(), replay._now(), replay._now() + interval '24 hours')
  on conflict do nothing
  returning * into v_action;
  if found then
    perform replay._audit(v_action.host_id, v_action.kind || '_ASKED', v_action.reason,
      p_projection_id => v_action.projection_id, p_request_id => v_action.request_id,
      p_detail => v_action.impact || jsonb_build_object('action_id', v_action.action_id));
    return v_action;
  end if;

  select a.* into strict v_action
  from replay.pending_action a
  where (a.kind, a.subject) = (p_action.kind, p_action.subject)
    and a.status = 'AWAITING_APPROVAL';
  return v_action;
end;
$$;

comment on function replay._ask_action is
'Ask for a step on locked things that takes two people, and return the pending action; one that is
asked for already, with the same impact, is returned as it is. It expires after 24 hours.

p_action: its kind, subject, impact and reason, and what it is of.';

revoke all on function replay._ask_action from public;
