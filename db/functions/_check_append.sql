create or replace function replay._check_append(
  p_host_id uuid,
  p_transaction_id text,
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
  if p_host_id is null or p_transaction_id is null or p_registry_digest is null
    or array_position(p_events, null) is not null or coalesce(cardinality(p_events), 0) = 0 then
    raise exception 'host, transaction id, registry digest or an event is missing'
      using errcode = 'RP001',
            detail = jsonb_build_object('transaction_id', p_transaction_id,
              'event_count', coalesce(cardinality(p_events), 0)),
            hint = 'Give all four; a transaction has at least one event, and no event is null.';
  end if;
end;
$$;

comment on function replay._check_append is
'Guard replay.append_transaction.

Raises RP001 when an argument is missing; RP010 outside of READ COMMITTED; RP013 in a database
transaction that holds a batch.';

revoke all on function replay._check_append from public;
