create or replace function replay.resume_projection(
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
  return replay._move_projection(p_projection, p_consumer_group, 'PAUSED', 'RUNNING', p_reason);
end;
$$;

comment on function replay.resume_projection is
'Let a paused projection run again.

p_reason is kept in the audit. Without effect where it is RUNNING already.
Raises RP001 without a reason; RP101 when it is not registered; RP213 when it has not started.';

revoke all on function replay.resume_projection from public;
grant execute on function replay.resume_projection to replay_operator;
