create or replace function replay._check_sizes(
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[]
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_first constant int[] := replay._first_positions(p_member_counts);
  v_large record;
begin
  -- Nearly every call is smaller in all than a single event may be.
  if pg_column_size(p_events) <= 4194304 and 1000 >= all (p_member_counts) then
    return;
  end if;

  select s.* into v_large
  from (
    select c.place, count(*), sum(octet_length(c.payload)), max(octet_length(c.payload)),
      sum(sum(octet_length(c.payload))) over (order by c.place)
    from (
      select width_bucket(e.position::int, v_first), e.payload
      from unnest(p_events) with ordinality e (payload, position)
    ) c (place, payload)
    group by c.place
  ) s (place, member_count, byte_count, largest_event, call_byte_count)
  where s.member_count > 1000 or s.largest_event > 4194304 or s.call_byte_count > 16777216
  order by s.place
  limit 1;

  if found then
    raise exception 'transaction "%" is too large: % events, % bytes, % in one event',
        p_transaction_ids[v_large.place], v_large.member_count, v_large.byte_count,
        v_large.largest_event
      using errcode = 'RP004',
            detail = to_jsonb(v_large) - 'place'
              || jsonb_build_object('transaction_id', p_transaction_ids[v_large.place]),
            hint = 'At most 1,000 events, 4 MiB each, 16 MiB in all: append smaller transactions.';
  end if;
end;
$$;

comment on function replay._check_sizes is
'Check the bounds of transactions.

Raises RP004 when one has more than 1,000 events, one event more than 4 MiB, or the call more than
16 MiB in all.';

revoke all on function replay._check_sizes from public;
