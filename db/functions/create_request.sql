create or replace function replay.create_request(
  p_host_id uuid,
  p_projection text,
  p_consumer_group text default 'default',
  p_strategy text default 'EXACT',
  p_mode text default 'EXECUTE',
  p_failure_ids uuid[] default '{}',
  p_transaction_ids text[] default '{}',
  p_scopes jsonb default '[]',
  p_reason text default null
)
  returns replay.request_status
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_reason text := replay._reason(p_reason);
  v_projection_id int
    := (replay._started_projection(p_projection, p_consumer_group)).projection_id;
  v_failure_ids uuid[];
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  perform replay._check_choice('mode', p_mode, '{EXECUTE,VALIDATE_ONLY,ROLLBACK_DRY_RUN}');
  v_failure_ids := replay._select_items(p_host_id, v_projection_id, p_strategy, p_failure_ids,
    p_transaction_ids, p_scopes);

  v_request := replay._insert_request(p_host_id, v_projection_id, p_strategy, p_mode,
    v_failure_ids, v_reason);
  update replay.request r
  set status = 'READY', finished_at = case when p_mode = 'VALIDATE_ONLY' then replay._now() end
  where (r.host_id, r.request_id) = (p_host_id, v_request.request_id)
  returning * into v_request;
  if p_mode <> 'VALIDATE_ONLY' then
    update replay.request r
    set status = 'AWAITING_APPROVAL'
    where (r.host_id, r.request_id) = (p_host_id, v_request.request_id)
    returning * into v_request;
  end if;

  perform replay._audit_request(v_request, 'REQUEST_CREATED', 'PLANNING', v_reason);
  return replay._request_status(v_request);
end;
$$;

comment on function replay.create_request is
'Make an immutable plan of a selection and return the request that holds it: AWAITING_APPROVAL, or
READY, and finished, with VALIDATE_ONLY. It can be executed within 24 hours.

p_strategy, p_failure_ids, p_transaction_ids, p_scopes: see preview_request.
p_mode: EXECUTE; VALIDATE_ONLY, which is never approved; ROLLBACK_DRY_RUN, which runs the handlers
and rolls them back. p_reason: why, at most 4000 bytes.
Raises RP001 when an argument is malformed, the reason is missing or the selection is empty; RP009
when the plan would be too large; RP011 when a failure is not replayable; RP012 when a version is
missing before a selected transaction; RP101 when there is no such projection; RP102 when the host
has no such failure in it; RP104 when a transaction is not deferred; RP207 when a failure is not
OPEN; RP213 when the projection is retired.';

revoke all on function replay.create_request from public;
grant execute on function replay.create_request to replay_operator;
