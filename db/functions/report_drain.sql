create or replace function replay.report_drain(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint,
  p_applied_count bigint,
  p_failed_count bigint
)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  v_request := replay._lock_request(p_host_id, p_request_id);
  if (p_applied_count >= 0 and p_failed_count >= 0) is not true then
    raise exception 'what was drained is counted from 0'
      using errcode = 'RP001',
            detail = jsonb_build_object('applied_count', p_applied_count, 'failed_count',
              p_failed_count),
            hint = 'Give how many were applied, and how many failed.';
  end if;
  perform replay._check_request_state(v_request, '{SUCCEEDED}');
  if v_request.fence is distinct from p_fence then
    raise exception 'request % did not end with fence %', p_request_id, p_fence
      using errcode = 'RP301', detail = jsonb_build_object('fence', v_request.fence),
            hint = 'Only who brought it to its end drains behind it.';
  end if;

  perform replay._audit(p_host_id, 'RUN_DRAINED', p_projection_id => v_request.projection_id,
    p_request_id => p_request_id,
    p_detail => jsonb_build_object('fence', p_fence, 'applied_count', p_applied_count,
      'failed_count', p_failed_count));
end;
$$;

comment on function replay.report_drain is
'Record what the execution of a request has drained behind its end: deferred transactions that it
applied, and those that failed anew. The timeline shows it.

Raises RP001 when a count is missing or negative; RP103 when there is no such request; RP207 when it
has not SUCCEEDED; RP301 when another fence brought it to its end.';

revoke all on function replay.report_drain from public;
grant execute on function replay.report_drain to replay_processor;
