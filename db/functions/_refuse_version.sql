create or replace function replay._refuse_version(
  p_scope replay.carried_scope,
  p_head bigint,
  p_transaction_ids text[]
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  raise exception '% "%" is at version %: % is not the next one', p_scope.scope_type,
      p_scope.scope_key, p_head, p_scope.first_version
    using errcode = 'RP203',
          detail = jsonb_build_object('transaction_id', p_transaction_ids[p_scope.place],
            'scope_type', p_scope.scope_type, 'scope_key', p_scope.scope_key,
            'expected', p_head + 1, 'found', p_scope.first_version),
          hint = 'Somebody else appended: load the aggregate, decide again, append again.';
end;
$$;

comment on function replay._refuse_version is
'Raise that a scope is at p_head, and the transaction does not begin right behind.

Raises RP203 with the expected and the found version.';

revoke all on function replay._refuse_version from public;
