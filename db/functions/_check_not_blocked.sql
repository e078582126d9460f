create or replace function replay._check_not_blocked(
  p_host_id uuid,
  p_scopes replay.carried_scope[],
  p_transaction_ids text[]
)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_blocked record;
begin
  -- Per scope one probe of failure_scope_open, whose predicate is repeated here word for word.
  select f.failure_id, f.scope_type, f.scope_key, f.projection, f.consumer_group,
    p_transaction_ids[s.place] as transaction_id
  into v_blocked
  from unnest(p_scopes) s
  cross join lateral (
    select o.failure_id, o.scope_type, o.scope_key, p.projection, p.consumer_group
    from replay.failure_scope o
    join replay.projection p on p.projection_id = o.projection_id
    where o.is_open and o.scope_type <> 'TRANSACTION'
      and (o.host_id, o.scope_type, o.scope_key) = (p_host_id, s.scope_type, s.scope_key)
      and p.status <> 'RETIRED'
    limit 1
  ) f
  limit 1;

  if found then
    raise exception '% "%" waits for failure % of projection "%"', v_blocked.scope_type,
        v_blocked.scope_key, v_blocked.failure_id, v_blocked.projection
      using errcode = 'RP204',
            detail = to_jsonb(v_blocked),
            hint = 'Heal it: replay.get_failure tells what failed, replay.create_request plans it.';
  end if;
end;
$$;

comment on function replay._check_not_blocked is
'Check that no projection in use has an open failure in these scopes, at a constant cost each.

Raises RP204 and names the failure when one has.';

revoke all on function replay._check_not_blocked from public;
