create or replace function replay._check_scope_count(
  p_transaction_id text,
  p_scopes replay.scope_range[]
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if cardinality(p_scopes) > 64 then
    raise exception 'transaction "%" is too large: % scopes', p_transaction_id,
        cardinality(p_scopes)
      using errcode = 'RP004',
            detail = jsonb_build_object('transaction_id', p_transaction_id,
              'scope_count', cardinality(p_scopes)),
            hint = 'At most 64 aggregates and graph roots: append smaller transactions.';
  end if;
end;
$$;

comment on function replay._check_scope_count is
'Check that a transaction carries no more scopes than can be locked at once.

Raises RP004 when there are more than 64.';

revoke all on function replay._check_scope_count from public;
