create or replace function replay._check_counts(
  p_transaction_ids text[],
  p_member_counts int[],
  p_event_count int
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_count constant int := cardinality(p_transaction_ids);
begin
  if v_count > 500 then
    raise exception '% transactions are too many for one call', v_count
      using errcode = 'RP004',
            detail = jsonb_build_object('transaction_count', v_count, 'limit', 500),
            hint = 'At most 500 transactions: make several calls.';
  end if;
  if cardinality(p_member_counts) is distinct from v_count
    or (0 < all (p_member_counts)) is not true
    or (select sum(c.member_count) from unnest(p_member_counts) c (member_count)) <> p_event_count
  then
    raise exception 'the member counts do not go with % transactions of % events', v_count,
        p_event_count
      using errcode = 'RP001',
            detail = jsonb_build_object('transaction_count', v_count,
              'event_count', p_event_count),
            hint = 'Give one count for each transaction, 1 or more; together the events.';
  end if;
end;
$$;

comment on function replay._check_counts is
'Check that the arrays of a call with many transactions go together.

Raises RP001 when they do not; RP004 when there are more than 500 transactions.';

revoke all on function replay._check_counts from public;
