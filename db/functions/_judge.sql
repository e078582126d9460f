create or replace function replay._judge(
  p_items replay.batch_item[],
  p_scopes replay.batch_scope[]
)
  returns setof replay.batch_item
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  return query
  with verdict as (
    select s.ord, bool_and(s.last_version <= s.progress) as is_stale,
      bool_or(s.first_version <= s.progress) as is_behind, bool_or(s.barred) as is_barred,
      max(s.holder) as holder
    from unnest(p_scopes) s
    group by s.ord
  )
  select i.xact_id, i.ord, i.projection_id, i.host_id, i.transaction_id, i.lane, i.source_offset,
    i.member_count, i.was_deferred, i.failure_id, i.scopes,
    case
      when (i.scopes[1]).scope_type = 'TRANSACTION' and exists (
        select from replay.ledger l
        where (l.host_id, l.projection_id, l.transaction_id)
          = (i.host_id, i.projection_id, i.transaction_id)) then 'DUPLICATE'
      when exists (
        select from replay.failure f
        where (f.host_id, f.projection_id, f.transaction_id)
          = (i.host_id, i.projection_id, i.transaction_id)) then 'OBSERVED'
      when not i.was_deferred and exists (
        select from replay.deferred d
        where (d.host_id, d.projection_id, d.transaction_id)
          = (i.host_id, i.projection_id, i.transaction_id)) then 'OBSERVED'
      -- Pruned from the ledger, it cannot be told from what was applied.
      when (i.scopes[1]).scope_type = 'TRANSACTION' and not i.was_deferred
        and i.source_offset <= (
          select p.ledger_bound from replay.position p
          where (p.host_id, p.projection_id, p.lane) = (i.host_id, i.projection_id, i.lane))
        then 'CONFLICT'
      when v.is_stale then 'STALE'
      when v.is_behind or v.holder is not null then 'CONFLICT'
      when v.is_barred then 'DEFER'
      else 'APPLY'
    end,
    v.holder, i.follows
  from unnest(p_items) i
  left join verdict v on v.ord = i.ord;
end;
$$;

comment on function replay._judge is
'Decide each item by what is known of it alone; APPLY still depends on its turn (_waiting_items).

Known ids need no comparison of bytes here: on the outbox an id refers to the one immutable row of
the event store.';

revoke all on function replay._judge from public;
