create or replace function replay.preview_request(
  p_host_id uuid,
  p_projection text,
  p_consumer_group text default 'default',
  p_strategy text default 'EXACT',
  p_failure_ids uuid[] default '{}',
  p_transaction_ids text[] default '{}',
  p_scopes jsonb default '[]'
)
  returns replay.request_preview
  language plpgsql
  stable
  security definer
  set search_path = ''
as $$
declare
  v_projection_id int
    := (replay._started_projection(p_projection, p_consumer_group)).projection_id;
  v_failure_ids uuid[];
  v_waiting text[];
  v_preview replay.request_preview;
begin
  perform replay._check_host(p_host_id);
  v_failure_ids := replay._select_items(p_host_id, v_projection_id, p_strategy, p_failure_ids,
    p_transaction_ids, p_scopes);
  v_waiting := array(select replay._waiting_behind(p_host_id, v_projection_id, v_failure_ids));
  select p_host_id, p_projection, p_consumer_group, p_strategy, count(*), sum(f.member_count),
    sum(f.byte_count), array_agg(distinct f.registry_version),
    jsonb_agg(
      jsonb_build_object('item_no', c.item_no, 'failure_id', f.failure_id, 'transaction_id',
        f.transaction_id, 'error_code', f.error_code, 'scopes',
        replay._failure_scopes(f.host_id, f.failure_id))
      order by c.item_no),
    cardinality(v_waiting),
    replay._summarize_deferred(p_host_id, v_projection_id, v_waiting)
  into v_preview
  from unnest(v_failure_ids) with ordinality c (failure_id, item_no)
  join replay.failure f on (f.host_id, f.failure_id) = (p_host_id, c.failure_id);
  return v_preview;
end;
$$;

comment on function replay.preview_request is
'Show what a plan of a selection would hold, and what waits behind it and flows once it is done.
Writes nothing, and refuses what create_request would refuse.

p_strategy EXACT: p_failure_ids, these OPEN failures. DEPENDENCY_CLOSURE: beside them
p_transaction_ids, deferred transactions, and p_scopes, an array of {"scope_type", "scope_key"};
each stands for every OPEN failure it waits for, transitively. What is selected twice is there once.
Raises RP001 when the selection is malformed or comes to nothing; RP009 when the plan would be too
large; RP011 when a failure is not replayable; RP012 when a version is missing before a selected
transaction; RP101 when there is no such projection; RP102 when the host has no such failure in
it; RP104 when a transaction is not deferred; RP207 when a failure is not OPEN; RP213 when the projection is
retired.';

revoke all on function replay.preview_request from public;
grant execute on function replay.preview_request to replay_operator;
