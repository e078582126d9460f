create or replace function replay._append(
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
  v_stored boolean[];
  v_appended replay.transaction[];
begin
  perform replay._check_append(p_host_id, p_transaction_ids, p_member_counts, p_events,
    p_registry_digest);
  v_stored := array(
    -- Not `exists`: it may be hashed, whole.
    select coalesce((
      select true from replay.transaction t
      where (t.host_id, t.transaction_id) = (p_host_id, u.transaction_id)), false)
    from unnest(p_transaction_ids) u (transaction_id));

  if true <> all (v_stored) then
    v_appended := replay._append_new(p_host_id, p_transaction_ids, p_member_counts, p_events,
      p_registry_digest);
    if cardinality(v_appended) = cardinality(p_transaction_ids) then
      return v_appended;
    end if;
  elsif false = any (v_stored) then
    perform replay._append_rest(p_host_id, p_transaction_ids, p_member_counts, p_events,
      p_registry_digest, v_stored);
  end if;
  -- Some are stored by now: before, or by somebody whose COMMIT was waited for.
  return replay._stored_transactions(p_host_id, p_transaction_ids, p_member_counts, p_events);
end;
$$;

comment on function replay._append is
'Append transactions, and answer with what is stored of those that were appended before.

Raises what replay.append_transactions raises.';

revoke all on function replay._append from public;
