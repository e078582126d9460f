create or replace function replay._refuse_versions(
  p_members replay.member_envelope[],
  p_transaction_ids text[]
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_place int;
  v_broken text[];
begin
  select c.place, array_agg(distinct c.scope_type || ' ' || c.scope_key) into v_place, v_broken
  from replay._carried_versions(p_members) c
  where c.is_broken
  group by c.place
  order by c.place
  limit 1;

  raise exception 'versions of one scope do not follow each other: %', v_broken[1]
    using errcode = 'RP005',
          detail = jsonb_build_object('transaction_id', p_transaction_ids[v_place],
            'scopes', v_broken),
          hint = 'Number the members of an aggregate one by one, in the order of their ordinals.';
end;
$$;

comment on function replay._refuse_versions is
'Raise what replay._scopes_of found.

Raises RP005 for the first transaction in which versions do not follow each other.';

revoke all on function replay._refuse_versions from public;
