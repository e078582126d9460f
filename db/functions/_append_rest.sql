create or replace function replay._append_rest(
  p_host_id uuid,
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[],
  p_registry_digest bytea,
  p_stored boolean[]
)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_first constant int[] := replay._first_positions(p_member_counts);
  v_ids text[];
  v_counts int[];
begin
  select array_agg(u.transaction_id order by u.place), array_agg(u.member_count order by u.place)
  into v_ids, v_counts
  from unnest(p_transaction_ids, p_member_counts, p_stored) with ordinality
    u (transaction_id, member_count, is_stored, place)
  where not u.is_stored;

  perform replay._append_new(p_host_id, v_ids, v_counts, array(
    select e.payload
    from unnest(p_events) with ordinality e (payload, position)
    where not p_stored[width_bucket(e.position::int, v_first)]
    order by e.position), p_registry_digest);
end;
$$;

comment on function replay._append_rest is
'Append those transactions of a call that are not stored.

Raises what replay._append_new raises.';

revoke all on function replay._append_rest from public;
