create or replace function replay.get_request(p_host_id uuid, p_request_id uuid)
  returns replay.request_status
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  select r.* into v_request
  from replay.request r
  where (r.host_id, r.request_id) = (p_host_id, p_request_id);

  if v_request.request_id is null then
    perform replay._refuse_unknown_request(p_host_id, p_request_id);
  end if;
  -- Only when due: reading a request writes nothing, so it works on a standby too.
  if replay._has_expired(v_request.status, v_request.expires_at)
    and current_setting('transaction_read_only') = 'off'
  then
    v_request := replay._expire_request(v_request);
  end if;
  return replay._request_status(v_request);
end;
$$;

comment on function replay.get_request is
'Get a request and how it stands: the hash of its plan, who decided what, what is done, whether an
execution can be claimed now (retryable). A plan past its life becomes EXPIRED by being looked at.

Raises RP103 when there is no such request.';

revoke all on function replay.get_request from public;
grant execute on function replay.get_request
to replay_reader, replay_operator, replay_approver, replay_processor;
