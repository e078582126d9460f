create or replace function replay._defer(p_xact_id xid8)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  -- Woken and decided: the hint is used up. What is still not next keeps its row, and whoever
  -- makes it next wakes it again; that takes one of the scope locks we hold.
  -- By place, as everywhere in here that a join could be planned badly for tables once empty.
  delete from replay.wake w
  where w.ctid = any (array(
    select (
      select x.ctid
      from replay.wake x
      where (x.host_id, x.projection_id, x.lane, x.transaction_id)
        = (b.host_id, b.projection_id, b.lane, b.transaction_id))
    from replay.batch_item b
    where b.xact_id = p_xact_id and b.was_deferred));

  delete from replay.deferred d
  where d.ctid = any (array(
    select (
      select x.ctid
      from replay.deferred x
      where (x.host_id, x.projection_id, x.transaction_id)
        = (b.host_id, b.projection_id, b.transaction_id))
    from replay.batch_item b
    where b.xact_id = p_xact_id and b.was_deferred and b.decision <> 'DEFER'));

  insert into replay.deferred (host_id, projection_id, transaction_id, lane, source_offset,
    deferred_at)
  select b.host_id, b.projection_id, b.transaction_id, b.lane, b.source_offset, replay._now()
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'DEFER' and not b.was_deferred;
  if not found then
    return;
  end if;

  insert into replay.deferred_scope (host_id, projection_id, scope_type, scope_key,
    first_version, last_version, transaction_id)
  select b.host_id, b.projection_id, s.scope_type, s.scope_key, s.first_version, s.last_version,
    b.transaction_id
  from replay.batch_item b cross join unnest(b.scopes) s
  where b.xact_id = p_xact_id and b.decision = 'DEFER' and not b.was_deferred;
end;
$$;

comment on function replay._defer is
'Keep the transactions of a batch that wait, and let go of those that waited and are dealt with.';

revoke all on function replay._defer from public;
