create or replace function replay._decide(p_items replay.batch_item[])
  returns setof replay.batch_item
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_scopes replay.batch_scope[] := replay._batch_scopes(p_items);
  v_items replay.batch_item[] := array(select i from replay._judge(p_items, v_scopes) i);
  v_waiting int[] := replay._waiting_items(v_scopes,
    array(select i.ord from unnest(v_items) i where i.decision <> 'APPLY'));
begin
  return query
  with neighbour as (
    select s.ord, lag(s.ord) over (
      partition by s.host_id, s.scope_type, s.scope_key order by s.first_version) as before
    from unnest(v_scopes) s
    join unnest(v_items) i on i.ord = s.ord
    where i.decision = 'APPLY' and s.ord <> all (v_waiting)
  ),
  follower as (
    select n.ord, array_agg(distinct n.before) as follows
    from neighbour n
    where n.before is not null
    group by n.ord
  )
  select i.xact_id, i.ord, i.projection_id, i.host_id, i.transaction_id, i.lane, i.source_offset,
    i.was_deferred, i.failure_id, i.scopes,
    case when i.ord = any (v_waiting) then 'DEFER' else i.decision end,
    i.other_transaction_id, coalesce(f.follows, '{}')
  from unnest(v_items) i
  left join follower f on f.ord = i.ord;
end;
$$;

comment on function replay._decide is
'Decide each item of a batch, in its order; the table of decisions is in docs/contract.md. To be
called behind the scope locks, in a statement of its own.';

revoke all on function replay._decide from public;
