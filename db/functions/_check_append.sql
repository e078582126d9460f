create or replace function replay._check_append(
  p_host_id uuid,
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[],
  p_registry_digest bytea
)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
begin
  perform replay._require_read_committed();
  perform replay._check_no_batch();
  if p_host_id is null or p_registry_digest is null or coalesce(cardinality(p_events), 0) = 0
    or coalesce(cardinality(p_transaction_ids), 0) = 0
    or array_position(p_transaction_ids, null) is not null
    or array_position(p_events, null) is not null then
    raise exception 'host, transaction id, registry digest or an event is missing'
      using errcode = 'RP001',
            detail = jsonb_build_object('transaction_id', p_transaction_ids[1],
              'event_count', coalesce(cardinality(p_events), 0)),
            hint = 'Give all of them; a transaction has at least one event, and no event is null.';
  end if;
  if cardinality(p_transaction_ids) > 1 then
    perform replay._check_counts(p_transaction_ids, p_member_counts, cardinality(p_events));
  end if;
end;
$$;

comment on function replay._check_append is
'Guard replay.append_transactions.

Raises RP001 when an argument is missing, or counts do not add up; RP004 when there are more than
500 transactions; RP010 outside of READ COMMITTED; RP013 in a database transaction that holds a
batch.';

revoke all on function replay._check_append from public;
