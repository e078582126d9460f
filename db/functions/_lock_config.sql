create or replace function replay._lock_config()
  returns replay.config
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  -- One change at a time; readers never wait.
  lock table replay.config in share row exclusive mode;
  return replay._config();
end;
$$;

comment on function replay._lock_config is 'The settings, locked for a change.';

revoke all on function replay._lock_config from public;
