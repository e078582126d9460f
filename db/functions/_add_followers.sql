create or replace function replay._add_followers(p_out int[], p_ords int[])
  returns int[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_out int[] := p_out;
  v_more int[] := p_ords;
begin
  while v_more <> '{}' loop
    v_out := v_out || v_more;
    v_more := array(
      select distinct e.ord
      from replay.batch_event e
      where e.follows && v_more and e.ord <> all (v_out));
  end loop;
  return v_out;
end;
$$;

comment on function replay._add_followers is
'Add these items of the batch in hand to p_out, and all that may not be applied without them.';

revoke all on function replay._add_followers from public;
grant execute on function replay._add_followers to replay_processor;
