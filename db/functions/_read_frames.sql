create or replace function replay._read_frames(
  inout p_at int,
  p_bytes bytea,
  p_count bigint,
  out frames bytea[]
)
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_size int;
begin
  frames := '{}';
  for v_frame in 1 .. p_count loop
    v_size := replay._read_integer(p_bytes, p_at, 4);
    frames := array_append(frames, substring(p_bytes from p_at + 4 for v_size));
    p_at := p_at + 4 + v_size;
  end loop;
end;
$$;

comment on function replay._read_frames is
'Read p_count framed values that begin at byte p_at; p_at is moved behind them.';

revoke all on function replay._read_frames from public;
grant execute on function replay._read_frames to replay_reader;
