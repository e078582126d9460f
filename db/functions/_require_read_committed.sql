create or replace function replay._require_read_committed()
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the transaction runs under %', current_setting('transaction_isolation')
      using errcode = 'RP010',
            detail = jsonb_build_object('isolation', current_setting('transaction_isolation')),
            hint = 'Call it under READ COMMITTED: what is read after a lock must be what is there.';
  end if;
end;
$$;

comment on function replay._require_read_committed is
'Refuse any isolation level but READ COMMITTED.

Raises RP010 under another one.';

revoke all on function replay._require_read_committed from public;
