create or replace function replay._retire(p_action replay.pending_action)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_before replay.request;
  v_request replay.request;
begin
  for v_before in
    select r.*
    from replay.request r
    where r.projection_id = p_action.projection_id
      and r.status in ('READY', 'AWAITING_APPROVAL', 'APPROVED') and r.finished_at is null
    order by r.host_id, r.request_id
    for no key update
  loop
    update replay.request r
    set status = 'CANCELLED', cancelled_by = p_action.decided_by,
      cancellation_reason = p_action.decision_reason, finished_at = replay._now()
    where (r.host_id, r.request_id) = (v_before.host_id, v_before.request_id)
    returning * into v_request;
    perform replay._audit_request(v_request, 'REQUEST_CANCELLED', v_before.status,
      p_action.decision_reason);
  end loop;

  -- Not locked: a chunk in hand holds its request, for half an hour at most.
  select r.* into v_before
  from replay.request r
  where r.projection_id = p_action.projection_id and r.status in ('INSTALLING_BARRIER', 'RUNNING')
  limit 1;
  if found then
    raise exception 'request % of the projection is in execution', v_before.request_id
      using errcode = 'RP207', detail = jsonb_build_object('request_id', v_before.request_id,
              'status', v_before.status),
            hint = 'Let it finish, execute it again, or release it: release_request.';
  end if;

  update replay.projection p
  set status = 'RETIRED'
  where p.projection_id = p_action.projection_id;
  perform replay._audit(null, 'PROJECTION_RETIRED', p_action.decision_reason,
    p_projection_id => p_action.projection_id,
    p_detail => jsonb_build_object('action_id', p_action.action_id));
end;
$$;

comment on function replay._retire is
'Retire a locked projection, as the action says that two people have decided.

Raises RP207 when one of its requests is in execution.';

revoke all on function replay._retire from public;
