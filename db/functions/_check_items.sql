create or replace function replay._check_items(p_request replay.request, p_items int[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_drift jsonb;
begin
  perform
  from replay.failure f
  join replay.request_item i on (i.host_id, i.failure_id) = (f.host_id, f.failure_id)
  where (i.host_id, i.request_id) = (p_request.host_id, p_request.request_id)
    and i.item_no = any (p_items)
  order by f.failure_id
  for no key update of f;

  -- In a statement of its own: it must see what was committed while we waited for the locks.
  select jsonb_build_object('item_no', d.item_no, 'failure_id', d.failure_id, 'fact', d.fact)
  into v_drift
  from replay._drifted_facts(p_request, p_items) d
  order by d.item_no, d.fact
  limit 1;

  if found then
    perform replay._refuse_drift(p_request, v_drift);
  end if;
end;
$$;

comment on function replay._check_items is
'Lock the failures of some items and check that every fact their plan was approved on still holds.

Raises RP208 naming the first fact that has changed.';

revoke all on function replay._check_items from public;
