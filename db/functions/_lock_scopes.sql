create or replace function replay._lock_scopes(p_keys bigint[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  -- One by one, as the inner query hands them out sorted.
  perform pg_advisory_xact_lock(s.key)
  from (select distinct k.key from unnest(p_keys) k (key) order by k.key offset 0) s;
end;
$$;

comment on function replay._lock_scopes is
'Take scope locks until the end of the database transaction: one by one, in the order of their
keys, so that no two takers can deadlock.';

revoke all on function replay._lock_scopes from public;
