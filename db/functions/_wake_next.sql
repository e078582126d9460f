create or replace function replay._wake_next(p_xact_id xid8)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  insert into replay.wake (host_id, projection_id, lane, transaction_id)
  select distinct d.host_id, d.projection_id, d.lane, d.transaction_id
  from (
    select b.host_id, b.projection_id, s.scope_type, s.scope_key, max(s.last_version) as version
    from replay.batch_item b cross join unnest(b.scopes) s
    where b.xact_id = p_xact_id and b.decision = 'APPLY' and s.scope_type <> 'TRANSACTION'
    group by b.host_id, b.projection_id, s.scope_type, s.scope_key
  ) moved
  cross join lateral (
    select x.transaction_id
    from replay.deferred_scope x
    where (x.host_id, x.projection_id, x.scope_type, x.scope_key)
      = (moved.host_id, moved.projection_id, moved.scope_type, moved.scope_key)
      and x.first_version <= moved.version + 1
    order by x.first_version) w
  cross join lateral (
    select x.*
    from replay.deferred x
    where (x.host_id, x.projection_id, x.transaction_id)
      = (moved.host_id, moved.projection_id, w.transaction_id)
    limit 1) d
  -- In key order: another batch may wake the same ones at this instant.
  order by d.host_id, d.projection_id, d.lane, d.transaction_id
  on conflict do nothing;
end;
$$;

comment on function replay._wake_next is
'Wake each deferred transaction that carries the version behind one that a batch applied.';

revoke all on function replay._wake_next from public;
