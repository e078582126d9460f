create or replace function replay._check_request_state(
  p_request replay.request,
  p_allowed text[]
)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  if replay._has_expired(p_request.status, p_request.expires_at)
    or p_request.status = 'EXPIRED'
  then
    raise exception 'the plan of request % expired at %', p_request.request_id,
      p_request.expires_at
      using errcode = 'RP209',
            detail = jsonb_build_object('request_id', p_request.request_id, 'expires_at',
              p_request.expires_at),
            hint = 'Make a new plan with create_request.';
  end if;
  if p_request.status <> all (p_allowed) then
    raise exception 'request % is %', p_request.request_id, p_request.status
      using errcode = 'RP207',
            detail = jsonb_build_object('request_id', p_request.request_id, 'status',
              p_request.status, 'mode', p_request.mode, 'allowed', p_allowed),
            hint = case
              when p_request.finished_at is not null then 'It has ended; make a new request.'
              when p_request.status = 'AWAITING_APPROVAL' then 'Somebody else approves it first.'
              else 'This needs a request that is ' || array_to_string(p_allowed, ' or ') || '.'
            end;
  end if;
end;
$$;

comment on function replay._check_request_state is
'Check that a locked request is in one of the states that a command needs.

Raises RP207 when it is in another; RP209 when its plan has expired.';

revoke all on function replay._check_request_state from public;
