create or replace function replay._move_heads(
  p_host_id uuid,
  p_scopes replay.carried_scope[],
  p_transaction_ids text[]
)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_moved text[];
begin
  with moved as (
    -- The order is that of the locks.
    insert into replay.stream_head as h (host_id, scope_type, scope_key, version, first_version)
    select p_host_id, s.scope_type, s.scope_key, s.last_version, s.first_version
    from unnest(p_scopes) s
    order by s.scope_type collate "C", s.scope_key collate "C"
    on conflict (host_id, scope_type, scope_key) do update set version = excluded.version
    where h.version = excluded.first_version - 1
    returning h.scope_type || ' ' || h.scope_key as scope, h.first_version
  )
  select array_agg(m.scope) into v_moved from moved m where m.first_version = 1;

  if cardinality(v_moved) is distinct from cardinality(p_scopes) then
    perform replay._refuse_version(s, case when h.first_version = 1 then h.version else 0 end,
      p_transaction_ids)
    from unnest(p_scopes) s
    join replay.stream_head h
      on (h.host_id, h.scope_type, h.scope_key) = (p_host_id, s.scope_type, s.scope_key)
    where (s.scope_type || ' ' || s.scope_key = any (v_moved)) is not true
    order by s.place
    limit 1;
  end if;
end;
$$;

comment on function replay._move_heads is
'Move the stream head of each ordered scope over the versions that a call carries.

Locks the heads by key; whoever appends to the same scope waits for the COMMIT. Raises RP203 with
the expected and the found version when a scope is not right before its first version.';

revoke all on function replay._move_heads from public;
