create or replace function replay._end_trials(p_xact_id xid8)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_item record;
begin
  -- In the order of begin_trial, and one by one: they are few, and a join would be planned for a
  -- table that is empty mostly.
  for v_item in
    select b.host_id, b.projection_id, b.transaction_id
    from replay.batch_item b
    where b.xact_id = p_xact_id
    order by b.host_id, b.transaction_id
  loop
    delete from replay.trial t
    where (t.host_id, t.projection_id, t.transaction_id)
      = (v_item.host_id, v_item.projection_id, v_item.transaction_id);
  end loop;
end;
$$;

comment on function replay._end_trials is
'Forget what was held against the transactions of a batch: it came to its end.';

revoke all on function replay._end_trials from public;
