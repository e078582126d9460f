create or replace function replay._check_plan(p_request replay.request)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_items int[];
  v_failure_ids uuid[];
  v_drift jsonb;
begin
  select array_agg(i.item_no), array_agg(i.failure_id order by i.item_no)
  into v_items, v_failure_ids
  from replay.request_item i
  where (i.host_id, i.request_id) = (p_request.host_id, p_request.request_id);

  select to_jsonb(d) into v_drift
  from replay._drifted_facts(p_request, v_items) d
  order by d.item_no, d.fact
  limit 1;
  -- What has no name of its own, pins and counts say, still changes the document.
  if v_drift is null and p_request.plan is distinct from replay._plan_document(
    p_request.host_id, p_request.projection_id, p_request.strategy, p_request.mode,
    v_failure_ids, p_request.expires_at)
  then
    v_drift := '{"fact": "plan"}';
  end if;
  if v_drift is not null then
    perform replay._refuse_drift(p_request, v_drift);
  end if;
end;
$$;

comment on function replay._check_plan is
'Check that every fact of a plan is as it was when the plan was made. A newer registry or handler
release is no drift: failures pin what they are read under.

Raises RP208, naming the first fact that has changed.';

revoke all on function replay._check_plan from public;
