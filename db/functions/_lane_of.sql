create or replace function replay._lane_of(
  p_first_member replay.member_envelope,
  p_lane_count int
)
  returns int
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  return abs(hashtextextended(case
    when p_first_member.aggregate_version is not null then 'AGGREGATE '
      || replay._aggregate_key(p_first_member.aggregate_type, p_first_member.aggregate_id)
    when p_first_member.graph_revision is not null then 'GRAPH_ROOT ' || p_first_member.graph_root
    else 'TRANSACTION ' || p_first_member.transaction_id
  end, 0) % p_lane_count);
end;
$$;

comment on function replay._lane_of is
'Choose the outbox lane of a transaction, 0 and up, by the first scope of its first member.

Only spreads the load: an aggregate may change lanes when lanes are added, and the ordering rule
holds all the same.';

revoke all on function replay._lane_of from public;
