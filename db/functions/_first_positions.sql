create or replace function replay._first_positions(p_member_counts int[])
  returns int[]
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if cardinality(p_member_counts) = 1 then
    return array[1];
  end if;
  return array(
    select 1 - c.member_count + sum(c.member_count) over (order by c.place)
    from unnest(p_member_counts) with ordinality c (member_count, place)
    order by c.place);
end;
$$;

comment on function replay._first_positions is
'Tell where the events of each transaction of a call begin among all of them, from 1.

The transaction of the event at a position is width_bucket(position, these).';

revoke all on function replay._first_positions from public;
