create or replace function replay._describe(
  p_host_id uuid,
  p_transaction_ids text[],
  p_members replay.member_envelope[],
  p_scopes replay.carried_scope[],
  p_alone int[],
  p_registry_version int
)
  returns replay.transaction[]
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_now constant timestamptz := replay._now();
  v_actor constant text := replay._actor();
begin
  return array(
    select row(p_host_id, p_transaction_ids[m.place], p_registry_version, count(m.payload),
      sum(octet_length(m.payload)), coalesce(m.place = any (p_alone), false),
      coalesce(array_agg(row(m.scope_type, m.scope_key, m.first_version, m.last_version)
          ::replay.scope_range order by m.scope_type collate "C", m.scope_key collate "C")
          filter (where m.scope_type is not null),
        array[row('TRANSACTION', p_transaction_ids[m.place], null, null)::replay.scope_range]),
      v_now, v_actor)::replay.transaction
    from (
      select e.place, e.payload, null as scope_type, null as scope_key,
        null::bigint as first_version, null::bigint as last_version
      from unnest(p_members) e
      union all
      select s.place, null, s.scope_type, s.scope_key, s.first_version, s.last_version
      from unnest(p_scopes) s
    ) m
    group by m.place
    order by m.place);
end;
$$;

comment on function replay._describe is
'Make the rows of transactions out of their members and scopes, in their order.';

revoke all on function replay._describe from public;
