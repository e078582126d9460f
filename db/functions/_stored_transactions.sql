create or replace function replay._stored_transactions(
  p_host_id uuid,
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[]
)
  returns replay.transaction[]
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_first constant int[] := replay._first_positions(p_member_counts);
  v_transactions replay.transaction[];
  v_other text;
begin
  select array_agg(t.stored order by u.place), (array_agg(u.transaction_id order by u.place) filter (
    where array(
      select e.digest
      from replay.event e
      where (e.host_id, e.transaction_id) = (p_host_id, u.transaction_id)
      order by e.ordinal
    ) <> array(
      select sha256(g.payload)
      from unnest(p_events[v_first[u.place] : v_first[u.place] + p_member_counts[u.place] - 1])
        with ordinality g (payload, ordinal)
      order by g.ordinal)))[1]
  into v_transactions, v_other
  from unnest(p_transaction_ids) with ordinality u (transaction_id, place)
  cross join lateral (
    select x as stored
    from replay.transaction x
    where (x.host_id, x.transaction_id) = (p_host_id, u.transaction_id)
    limit 1) t;

  if v_other is not null then
    raise exception 'transaction "%" is stored with other bytes', v_other
      using errcode = 'RP201',
            detail = jsonb_build_object('host_id', p_host_id, 'transaction_id', v_other),
            hint = 'Resend the very bytes of the first try, or append under a new transaction id.';
  end if;
  return v_transactions;
end;
$$;

comment on function replay._stored_transactions is
'Find transactions that are appended, with these very bytes.

Volatile: called after a wait for whoever appended the same id, it has to see what they did.
Raises RP201 when one was appended with other bytes.';

revoke all on function replay._stored_transactions from public;
