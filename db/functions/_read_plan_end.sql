create or replace function replay._read_plan_end(p_plan bytea, p_at int)
  returns jsonb
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_at int := p_at + 8;
  v_frames bytea[];
  v_scopes jsonb[] := array[]::jsonb[];
begin
  for v_scope in 1 .. replay._read_integer(p_plan, p_at, 8) loop
    select r.p_at, r.frames into v_at, v_frames from replay._read_frames(v_at, p_plan, 2) r;
    v_scopes := array_append(v_scopes, jsonb_build_object(
      'scope_type', convert_from(v_frames[1], 'UTF8'),
      'scope_key', convert_from(v_frames[2], 'UTF8'),
      'progress', replay._read_integer(p_plan, v_at, 8)));
    v_at := v_at + 8;
  end loop;

  return jsonb_build_object('scopes', v_scopes,
    'item_count', replay._read_integer(p_plan, v_at, 8),
    'member_count', replay._read_integer(p_plan, v_at + 8, 8),
    'byte_count', replay._read_integer(p_plan, v_at + 16, 8),
    'expires_at', timestamptz 'epoch'
      + replay._read_integer(p_plan, v_at + 24, 8) * interval '1 microsecond');
end;
$$;

comment on function replay._read_plan_end is
'The part of a plan document from its scopes on, which begins at byte p_at, as JSON.';

revoke all on function replay._read_plan_end from public;
grant execute on function replay._read_plan_end to replay_reader;
