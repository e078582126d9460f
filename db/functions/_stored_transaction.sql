create or replace function replay._stored_transaction(
  p_host_id uuid,
  p_transaction_id text,
  p_events bytea[]
)
  returns replay.transaction
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_transaction replay.transaction;
begin
  select t.* into v_transaction
  from replay.transaction t
  where (t.host_id, t.transaction_id) = (p_host_id, p_transaction_id);

  if found and (
    select array_agg(e.digest order by e.ordinal)
    from replay.event e
    where (e.host_id, e.transaction_id) = (p_host_id, p_transaction_id)
  ) is distinct from (
    select array_agg(sha256(u.payload) order by u.ordinal)
    from unnest(p_events) with ordinality u (payload, ordinal)
  ) then
    raise exception 'transaction "%" is stored with other bytes', p_transaction_id
      using errcode = 'RP201',
            detail = jsonb_build_object('host_id', p_host_id, 'transaction_id', p_transaction_id),
            hint = 'Resend the very bytes of the first try, or append under a new transaction id.';
  end if;
  return v_transaction;
end;
$$;

comment on function replay._stored_transaction is
'Find a transaction that was appended before, with these very bytes; null when there is none.

Volatile: called once more after a wait for whoever appended the same id, it has to see what they
did.
Raises RP201 when it was appended with other bytes.';

revoke all on function replay._stored_transaction from public;
