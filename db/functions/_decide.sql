create or replace function replay._decide(p_items replay.batch_item[])
  returns setof replay.batch_item
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_scopes replay.batch_scope[] := replay._batch_scopes(p_items);
  v_items replay.batch_item[] := array(select i from replay._judge(p_items, v_scopes) i);
  v_refused int[] := array(select i.ord from unnest(v_items) i where i.decision <> 'APPLY');
  v_waiting int[] := replay._waiting_items(v_scopes, v_refused);
begin
  return query select l.* from replay._link_items(v_items, v_scopes, v_refused, v_waiting) l;
end;
$$;

comment on function replay._decide is
'Decide each item of a batch, in its order; the table of decisions is in docs/contract.md. To be
called behind the scope locks, in a statement of its own.';

revoke all on function replay._decide from public;
