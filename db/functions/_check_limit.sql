create or replace function replay._check_limit(p_limit int)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if (p_limit between 1 and 1000) is not true then
    raise exception 'a list cannot hold % rows', p_limit
      using errcode = 'RP001',
            detail = jsonb_build_object('argument', 'limit', 'value', p_limit),
            hint = 'Ask for 1 to 1000 and page through the rest.';
  end if;
end;
$$;

comment on function replay._check_limit is
'Check how many rows a list may return.

Raises RP001 when it is null or not between 1 and 1000.';

revoke all on function replay._check_limit from public;
