create or replace function replay._move_heads(p_host_id uuid, p_scopes replay.scope_range[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_stuck replay.scope_range;
  v_head bigint;
begin
  with moved as (
    -- A stream starts at 1. The order is that of the locks. Not `exists`: it may be hashed, whole.
    insert into replay.stream_head as h (host_id, scope_type, scope_key, version)
    select p_host_id, s.scope_type, s.scope_key, s.last_version
    from unnest(p_scopes) s
    where s.first_version = 1 or (
      select e.version > 0 from replay.stream_head e
      where (e.host_id, e.scope_type, e.scope_key) = (p_host_id, s.scope_type, s.scope_key))
    order by s.scope_type collate "C", s.scope_key collate "C"
    on conflict (host_id, scope_type, scope_key) do update set version = excluded.version
    where h.version = (
      select s.first_version - 1 from unnest(p_scopes) s
      where (s.scope_type, s.scope_key) = (h.scope_type, h.scope_key))
    returning h.scope_type, h.scope_key
  )
  select s.* into v_stuck
  from unnest(p_scopes) s
  where s.first_version is not null
    and (s.scope_type, s.scope_key) not in (select m.scope_type, m.scope_key from moved m)
  limit 1;

  if found then
    select h.version into v_head
    from replay.stream_head h
    where (h.host_id, h.scope_type, h.scope_key)
      = (p_host_id, v_stuck.scope_type, v_stuck.scope_key);
    raise exception '% "%" is at version %: % is not the next one', v_stuck.scope_type,
        v_stuck.scope_key, coalesce(v_head, 0), v_stuck.first_version
      using errcode = 'RP203',
            detail = jsonb_build_object('scope_type', v_stuck.scope_type,
              'scope_key', v_stuck.scope_key, 'expected', coalesce(v_head, 0) + 1,
              'found', v_stuck.first_version),
            hint = 'Somebody else appended: load the aggregate, decide again, append again.';
  end if;
end;
$$;

comment on function replay._move_heads is
'Move the stream head of each ordered scope over the versions that a transaction carries.

Locks the heads by key; whoever appends to the same scope waits for the COMMIT. Raises RP203 with
the expected and the found version when a scope is not right before its first version.';

revoke all on function replay._move_heads from public;
