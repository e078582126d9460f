create or replace function replay.resume_execution(p_reason text)
  returns replay.config
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  return replay._set_enabled(true, p_reason);
end;
$$;

comment on function replay.resume_execution is
'Allow the execution of replays again. Nothing resumes by itself: execute the requests again.

Without effect where it is so already.
Raises RP001 without a reason.';

revoke all on function replay.resume_execution from public;
grant execute on function replay.resume_execution to replay_operator;
