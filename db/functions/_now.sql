create or replace function replay._now()
  returns timestamptz
  language sql
  volatile
  return clock_timestamp();

comment on function replay._now is
'Tell the time of the database. Volatile: evaluated after a lock wait, not before.';

revoke all on function replay._now from public;
grant execute on function replay._now to replay_reader;
