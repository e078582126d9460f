create or replace function replay._append_new(
  p_host_id uuid,
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[],
  p_registry_digest bytea
)
  returns replay.transaction[]
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_registry_version int;
  v_members replay.member_envelope[];
  v_alone int[];
  v_scopes replay.carried_scope[];
  v_transactions replay.transaction[];
  v_stored int[];
begin
  perform replay._check_sizes(p_transaction_ids, p_member_counts, p_events);
  v_registry_version := replay._current_registry_version(p_registry_digest);
  v_members := replay._read_members(p_host_id, p_transaction_ids, p_member_counts, p_events);
  v_alone := replay._check_policies(v_members, p_transaction_ids, v_registry_version);
  v_scopes := replay._scopes_of(v_members, p_transaction_ids);
  v_transactions := replay._describe(p_host_id, p_transaction_ids, v_members, v_scopes, v_alone,
    v_registry_version);
  if cardinality(v_scopes) > 64 then
    perform replay._check_scope_count(v_transactions);
  end if;

  v_stored := replay._store_transactions(v_transactions);
  -- The others stand twice in the call, or somebody else appended them and was waited for.
  if v_stored is not null then
    v_transactions := array(select v_transactions[s.place] from unnest(v_stored) s (place));
    v_members := array(select m from unnest(v_members) m where m.place = any (v_stored));
    v_scopes := array(select s from unnest(v_scopes) s where s.place = any (v_stored));
  end if;

  if cardinality(v_transactions) > 1 then
    v_scopes := replay._join_scopes(v_scopes, p_transaction_ids);
  end if;
  perform replay._check_not_blocked(p_host_id, v_scopes, p_transaction_ids);
  perform replay._move_heads(p_host_id, v_scopes, p_transaction_ids);
  perform replay._store_events(p_host_id, p_transaction_ids, v_members);
  perform replay._enqueue(p_host_id, v_members);
  return v_transactions;
end;
$$;

comment on function replay._append_new is
'Append transactions of which none was stored a moment ago; return those that are appended now.

Raises what replay.append_transactions raises.';

revoke all on function replay._append_new from public;
