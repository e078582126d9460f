create or replace function replay._ask_action(
  p_kind text,
  p_request replay.request,
  p_impact jsonb,
  p_reason text
)
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
  where (a.host_id, a.request_id, a.kind) = (p_request.host_id, p_request.request_id, p_kind)
    and a.status = 'AWAITING_APPROVAL'
    and (a.expires_at <= replay._now() or a.impact <> p_impact);

  insert into replay.pending_action (host_id, action_id, kind, request_id, impact, status, reason,
    requested_by, requested_at, expires_at)
  values (p_request.host_id, gen_random_uuid(), p_kind, p_request.request_id, p_impact,
    'AWAITING_APPROVAL', p_reason, replay._actor(), replay._now(),
    replay._now() + interval '24 hours')
  on conflict do nothing
  returning * into v_action;
  if found then
    perform replay._audit(p_request.host_id, p_kind || '_ASKED', p_reason,
      p_projection_id => p_request.projection_id, p_request_id => p_request.request_id,
      p_detail => p_impact || jsonb_build_object('action_id', v_action.action_id));
    return v_action;
  end if;

  select a.* into strict v_action
  from replay.pending_action a
  where (a.host_id, a.request_id, a.kind) = (p_request.host_id, p_request.request_id, p_kind)
    and a.status = 'AWAITING_APPROVAL';
  return v_action;
end;
$$;

comment on function replay._ask_action is
'Ask for a step on a locked request that takes two people, and return the pending action; one that
is asked for already, with the same impact, is returned as it is. It expires after 24 hours.';

revoke all on function replay._ask_action from public;
