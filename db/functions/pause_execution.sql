create or replace function replay.pause_execution(p_reason text)
  returns replay.config
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  return replay._set_enabled(false, p_reason);
end;
$$;

comment on function replay.pause_execution is
'Stop the execution of replays: no new intent, claim or chunk from here on. A chunk in hand finishes
and settles, and its request can be resumed. Live work, planning and approval go on.

Without effect where it is so already.
Raises RP001 without a reason.';

revoke all on function replay.pause_execution from public;
grant execute on function replay.pause_execution to replay_operator;
