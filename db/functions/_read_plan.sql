create or replace function replay._read_plan(p_plan bytea)
  returns jsonb
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  -- Copied: a compressed column would be unpacked for each of its pieces.
  v_plan bytea := p_plan || ''::bytea;
  v_at int := 1;
  v_name text;
  v_count int;
  v_frames bytea[];
  v_read jsonb := jsonb_build_object();
begin
  foreach v_name in array '{contract,host_id,projection,consumer_group,strategy,mode}'::text[] loop
    select r.p_at, r.frames into v_at, v_frames from replay._read_frames(v_at, v_plan, 1) r;
    v_read := v_read || jsonb_build_object(v_name, convert_from(v_frames[1], 'UTF8'));
  end loop;

  foreach v_name in array '{failure_ids,fingerprints,repair_ids,corrected_fingerprints}'::text[]
  loop
    v_count := replay._read_integer(v_plan, v_at, 8);
    select r.p_at, r.frames into v_at, v_frames
    from replay._read_frames(v_at + 8, v_plan, v_count) r;
    v_read := v_read || jsonb_build_object(v_name, array(
      select case when v_name like '%ids' then convert_from(f.frame, 'UTF8')
        else encode(f.frame, 'hex') end
      from unnest(v_frames) with ordinality f (frame, ord) order by f.ord));
  end loop;

  v_count := replay._read_integer(v_plan, v_at, 8);
  v_read := v_read || jsonb_build_object('registry_versions', array(
    select replay._read_integer(v_plan, v_at + 8 * n, 8)
    from generate_series(1, v_count) n order by n));
  v_at := v_at + 8 + 8 * v_count;
  return v_read || replay._read_plan_end(v_plan, v_at);
end;
$$;

comment on function replay._read_plan is 'Show a plan document as JSON, for people.';

revoke all on function replay._read_plan from public;
grant execute on function replay._read_plan to replay_reader;
