create or replace function replay._lock_scopes(p_keys bigint[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_key bigint;
begin
  for v_key in select distinct k.key from unnest(p_keys) k (key) order by k.key loop
    perform pg_advisory_xact_lock(v_key);
  end loop;
end;
$$;

comment on function replay._lock_scopes is
'Take scope locks until the end of the database transaction: one by one, in the order of their
keys, so that no two takers can deadlock.';

revoke all on function replay._lock_scopes from public;
