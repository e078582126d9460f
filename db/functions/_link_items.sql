create or replace function replay._link_items(
  p_items replay.batch_item[],
  p_scopes replay.batch_scope[],
  p_refused int[],
  p_waiting int[]
)
  returns setof replay.batch_item
  language plpgsql
  stable
  set search_path = ''
  -- Only arrays are joined, whose lengths the planner does not know.
  set enable_nestloop = off
as $$
begin
  return query
  with neighbour as (
    select s.ord, lag(s.ord) over (
      partition by s.host_id, s.scope_type, s.scope_key order by s.first_version) as before
    from unnest(p_scopes) s
    where s.ord <> all (p_refused) and s.ord <> all (p_waiting)
  ),
  follower as (
    select n.ord, array_agg(distinct n.before) as follows
    from neighbour n
    where n.before is not null
    group by n.ord
  )
  select i.xact_id, i.ord, i.projection_id, i.host_id, i.transaction_id, i.lane, i.source_offset,
    i.member_count, i.was_deferred, i.failure_id, i.scopes,
    case when i.ord = any (p_waiting) then 'DEFER' else i.decision end,
    i.other_transaction_id, coalesce(f.follows, '{}')
  from unnest(p_items) i
  left join follower f on f.ord = i.ord;
end;
$$;

comment on function replay._link_items is
'Defer the items of a batch that wait, and note which item each of the others comes right behind.';

revoke all on function replay._link_items from public;
