create or replace function replay._lock_key(p_name text)
  returns bigint
  language sql
  immutable
  -- The salt spells "pyreplay": other applications lock small numbers and unsalted hashes.
  return hashtextextended(p_name, 8104634784433332601);

comment on function replay._lock_key is
'Key of an advisory lock of the engine.';

revoke all on function replay._lock_key from public;
grant execute on function replay._lock_key to replay_reader;
