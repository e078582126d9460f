create or replace function replay._select_items(
  p_host_id uuid,
  p_projection_id int,
  p_strategy text,
  p_failure_ids uuid[],
  p_transaction_ids text[],
  p_scopes jsonb
)
  returns uuid[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_transaction_ids text[];
  v_failure_ids uuid[];
begin
  perform replay._check_selection(p_strategy, p_failure_ids, p_transaction_ids, p_scopes);
  perform replay._check_chosen(p_host_id, p_projection_id, p_failure_ids);
  perform replay._check_deferred(p_host_id, p_projection_id, p_transaction_ids);

  v_transaction_ids := array(
    select replay._waited_for(p_host_id, p_projection_id, p_transaction_ids, p_scopes));
  perform replay._check_gaps(p_host_id, p_projection_id, v_transaction_ids);

  v_failure_ids := array(
    select f.failure_id
    from replay.failure f
    -- An array, not a join, which might read all failures of the host.
    where f.host_id = p_host_id and f.failure_id = any (array(
      select c.failure_id from unnest(p_failure_ids) c (failure_id)
      union
      select replay._failures_in(p_host_id, p_projection_id, v_transaction_ids, p_scopes)))
    order by f.captured_at, f.failure_id);
  perform replay._check_bounds(p_host_id, v_failure_ids);
  return v_failure_ids;
end;
$$;

comment on function replay._select_items is
'The failures that a selection comes to, in the order of the plan: by age. Each is there once,
however often it was selected.

What is selected beside failures stands for every OPEN failure it waits for, transitively over all
scopes. An OPEN failure waits for nothing: it is next in each of its scopes.
Raises RP001, RP009, RP011, RP012, RP102, RP104 or RP207 as preview_request says.';

revoke all on function replay._select_items from public;
