create or replace function replay.append_transaction(
  p_host_id uuid,
  p_transaction_id text,
  p_events bytea[],
  p_registry_digest bytea
)
  returns replay.transaction
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- Each statement is a few index probes at any size of table: never plan it anew, never by scans.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
declare
  v_transactions replay.transaction[];
begin
  perform replay._check_host(p_host_id);
  v_transactions := replay._append(p_host_id, array[p_transaction_id],
    array[cardinality(p_events)], p_events, p_registry_digest);
  return v_transactions[1];
end;
$$;

comment on function replay.append_transaction is
'Append the events of one transaction, all or nothing, and return the transaction.

The same id with the same bytes answers with what is stored, so a lost COMMIT can be tried again.
p_events are CloudEvents 1.0 in JSON, one an element, by ordinal; the bytes are kept as they are.
p_registry_digest is that of the registry version whose schemas the caller validated the data with.
Raises RP001 when an argument is missing; RP002 when an event is malformed; RP003 when they are not
one complete transaction of that host and id; RP004 when there is too much of it; RP005 when
ordering evidence is missing, has gaps or does not go with the policy; RP006 when a type is
unknown; RP008 when structural data is no object; RP010 outside of READ COMMITTED; RP013 in a
handler; RP105 without a registry; RP201 when the id is stored with other bytes; RP202 when an
event id is taken; RP203 when a version is not the next one of its stream; RP204 when an open
failure blocks a scope; RP205 when the registry moved on.';

revoke all on function replay.append_transaction from public;
grant execute on function replay.append_transaction to replay_appender;
