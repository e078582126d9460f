create or replace function replay._read_integer(p_bytes bytea, p_at int, p_size int)
  returns bigint
  language sql
  immutable
  return ('x' || lpad(encode(substring(p_bytes from p_at for p_size), 'hex'), 16, '0'))
    ::bit(64)::bigint;

comment on function replay._read_integer is
'Read a big-endian integer of p_size bytes that begins at byte p_at, counted from 1.';

revoke all on function replay._read_integer from public;
grant execute on function replay._read_integer to replay_reader;
