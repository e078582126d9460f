create or replace function replay.pause_projection(
  p_projection text,
  p_consumer_group text default 'default',
  p_reason text default null
)
  returns replay.projection
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  return replay._move_projection(p_projection, p_consumer_group, 'RUNNING', 'PAUSED', p_reason);
end;
$$;

comment on function replay.pause_projection is
'Pause a running projection: live processors take no further batch of it; a batch in hand finishes.

p_reason is kept in the audit. Without effect where it is PAUSED already.
Raises RP001 without a reason; RP101 when it is not registered; RP213 when it has not started.';

revoke all on function replay.pause_projection from public;
grant execute on function replay.pause_projection to replay_operator;
