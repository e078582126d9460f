create or replace function replay._check_pruning(p_older_than interval, p_limit int)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if (p_older_than >= interval '0' and p_limit between 1 and 10000) is not true then
    raise exception 'what is to be removed is not bounded: % old, % rows', p_older_than, p_limit
      using errcode = 'RP001', detail = '{"argument": "older_than"}',
            hint = 'Give an age of 0 or more, and a limit of 1 to 10000.';
  end if;
end;
$$;

comment on function replay._check_pruning is
'Check the bounds of a call that removes something.

Raises RP001.';

revoke all on function replay._check_pruning from public;
