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
  v_transaction replay.transaction;
  v_members replay.member_envelope[];
begin
  perform replay._check_append(p_host_id, p_transaction_id, p_events, p_registry_digest);
  v_transaction := replay._stored_transaction(p_host_id, p_transaction_id, p_events);
  if v_transaction.host_id is not null then
    return v_transaction;
  end if;
  v_transaction.byte_count := replay._check_size(p_transaction_id, p_events);
  v_transaction.registry_version := replay._current_registry_version(p_registry_digest);

  select array_agg(replay._read_event(u.payload, (u.ordinal - 1)::int) order by u.ordinal)
  into v_members
  from unnest(p_events) with ordinality u (payload, ordinal);
  perform replay._check_members(p_host_id, p_transaction_id, v_members);
  v_transaction.runs_alone := replay._check_policies(v_members, v_transaction.registry_version);
  v_transaction.scopes := replay._scopes_of(v_members, p_transaction_id);
  perform replay._check_scope_count(p_transaction_id, v_transaction.scopes);

  insert into replay.transaction (host_id, transaction_id, registry_version, member_count,
    byte_count, runs_alone, scopes, appended_at, appended_by)
  values (p_host_id, p_transaction_id, v_transaction.registry_version, cardinality(v_members),
    v_transaction.byte_count, v_transaction.runs_alone, v_transaction.scopes, replay._now(),
    replay._actor())
  on conflict (host_id, transaction_id) do nothing
  returning * into v_transaction;
  -- Somebody else was about to append the same id; it waited for their COMMIT.
  if not found then
    return replay._stored_transaction(p_host_id, p_transaction_id, p_events);
  end if;

  perform replay._check_not_blocked(p_host_id, v_transaction.scopes);
  perform replay._move_heads(p_host_id, v_transaction.scopes);
  perform replay._store_events(p_host_id, p_transaction_id, p_events, v_members);
  perform replay._enqueue(p_host_id, replay._lane_of(p_host_id, p_transaction_id, v_members[1]),
    p_transaction_id);
  return v_transaction;
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
