create or replace function replay._store_transactions(p_transactions replay.transaction[])
  returns int[]
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_stored text[];
begin
  with stored as (
    insert into replay.transaction
    select t.* from unnest(p_transactions) t
    on conflict (host_id, transaction_id) do nothing
    returning transaction_id
  )
  select array_agg(s.transaction_id) into v_stored from stored s;

  if cardinality(v_stored) = cardinality(p_transactions) then
    return null;
  end if;
  return array(
    select min(t.place)
    from unnest(p_transactions) with ordinality t (host_id, transaction_id, registry_version,
      member_count, byte_count, runs_alone, scopes, appended_at, appended_by, place)
    where t.transaction_id = any (v_stored)
    group by t.transaction_id
    order by 1);
end;
$$;

comment on function replay._store_transactions is
'Store transactions; return the places of those that were new, or null when all
were.';

revoke all on function replay._store_transactions from public;
