create or replace function replay.append_transactions(
  p_host_id uuid,
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[],
  p_registry_digest bytea
)
  returns setof replay.transaction
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- As in append_transaction.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
declare
  v_transactions replay.transaction[];
begin
  perform replay._check_host(p_host_id);
  v_transactions := replay._append(p_host_id, p_transaction_ids, p_member_counts, p_events,
    p_registry_digest);
  return query select * from unnest(v_transactions);
end;
$$;

comment on function replay.append_transactions is
'Append up to 500 transactions of one host, all or nothing, and return them in their order.

It does what as many calls of replay.append_transaction in one database transaction do; they may
follow each other in one stream.
p_member_counts tells how many of p_events belong to each transaction; p_events are those of the
first one by ordinal, then those of the second one, and so on.
Raises what replay.append_transaction raises, of a transaction that it names in the detail; RP004
also when there are more than 500 transactions, or 16 MiB in all.';

revoke all on function replay.append_transactions from public;
grant execute on function replay.append_transactions to replay_appender;
