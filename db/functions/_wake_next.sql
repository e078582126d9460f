create or replace function replay._wake_next(p_xact_id xid8)
  returns void
  language sql
  volatile
begin atomic
  insert into replay.wake (host_id, projection_id, lane, transaction_id)
  select distinct d.host_id, d.projection_id, d.lane, d.transaction_id
  from (
    select b.host_id, b.projection_id, s.scope_type, s.scope_key, max(s.last_version) as version
    from replay.batch_item b cross join unnest(b.scopes) s
    where b.xact_id = p_xact_id and b.decision = 'APPLY' and s.scope_type <> 'TRANSACTION'
    group by b.host_id, b.projection_id, s.scope_type, s.scope_key
  ) moved
  join replay.deferred_scope w
    on (w.host_id, w.projection_id, w.scope_type, w.scope_key)
      = (moved.host_id, moved.projection_id, moved.scope_type, moved.scope_key)
    and w.first_version <= moved.version + 1
  join replay.deferred d
    on (d.host_id, d.projection_id, d.transaction_id)
      = (w.host_id, w.projection_id, w.transaction_id)
  -- In key order: another batch may wake the same ones at this instant.
  order by d.host_id, d.projection_id, d.lane, d.transaction_id
  on conflict do nothing;
end;

comment on function replay._wake_next is
'Wake each deferred transaction that carries the version behind one that a batch applied.';

revoke all on function replay._wake_next from public;
