create or replace function replay._check_scope_count(p_transactions replay.transaction[])
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_large record;
begin
  select t.transaction_id, cardinality(t.scopes) as scope_count into v_large
  from unnest(p_transactions) t
  where cardinality(t.scopes) > 64
  limit 1;

  if found then
    raise exception 'transaction "%" is too large: % scopes', v_large.transaction_id,
        v_large.scope_count
      using errcode = 'RP004',
            detail = to_jsonb(v_large),
            hint = 'At most 64 aggregates and graph roots: append smaller transactions.';
  end if;
end;
$$;

comment on function replay._check_scope_count is
'Check that no transaction carries more scopes than can be locked at once.

Raises RP004 when one has more than 64.';

revoke all on function replay._check_scope_count from public;
