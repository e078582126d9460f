create or replace function replay._read_one_by_one(
  p_host_id uuid,
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[]
)
  returns replay.member_envelope[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_first constant int[] := replay._first_positions(p_member_counts);
  v_members replay.member_envelope[];
  v_all replay.member_envelope[];
begin
  for v_place in 1 .. cardinality(p_transaction_ids) loop
    select array_agg(replay._read_event(e.payload, (e.ordinal - 1)::int,
      p_transaction_ids[v_place], v_place) order by e.ordinal)
    into v_members
    from unnest(p_events[v_first[v_place] : v_first[v_place] + p_member_counts[v_place] - 1])
      with ordinality e (payload, ordinal);
    perform replay._check_members(p_host_id, p_transaction_ids[v_place], v_members);
    v_all := v_all || v_members;
  end loop;
  return v_all;
end;
$$;

comment on function replay._read_one_by_one is
'Read the members of a call event by event, and name what is wrong with the first bad one.

Raises RP002 when an event is malformed; RP003 when events are no complete transaction of that host
and id.';

revoke all on function replay._read_one_by_one from public;
