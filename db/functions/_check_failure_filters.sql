create or replace function replay._check_failure_filters(
  p_status text,
  p_scope_type text,
  p_scope_key text,
  p_limit int
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  perform replay._check_limit(p_limit);
  if p_status is not null then
    perform replay._check_choice('status', p_status, '{OPEN,RESOLVED,WAIVED}');
  end if;
  if p_scope_type is not null then
    perform replay._check_choice('scope type', p_scope_type, '{AGGREGATE,GRAPH_ROOT,TRANSACTION}');
  end if;
  if (p_scope_type is null) <> (p_scope_key is null) then
    raise exception 'a scope is its type and its key'
      using errcode = 'RP001', detail = '{"argument": "scope_key"}',
            hint = 'Give both, or neither.';
  end if;
end;
$$;

comment on function replay._check_failure_filters is
'Check the filters of list_failures.

Raises RP001 when one is malformed.';

revoke all on function replay._check_failure_filters from public;
