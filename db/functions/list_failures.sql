create or replace function replay.list_failures(
  p_host_id uuid default null,
  p_projection text default null,
  p_consumer_group text default null,
  p_status text default 'OPEN',
  p_error_code text default null,
  p_scope_type text default null,
  p_scope_key text default null,
  p_after uuid default null,
  p_limit int default 100
)
  returns setof replay.failure_summary
  language plpgsql
  stable
  security definer
  set search_path = ''
  -- Planned for the filters that are given: only so does each use the index that serves it.
  set plan_cache_mode = 'force_custom_plan'
as $$
declare
  v_hosts uuid[] := replay._own_hosts(p_host_id);
  v_after replay.failure;
begin
  perform replay._check_failure_filters(p_status, p_scope_type, p_scope_key, p_limit);
  if p_after is not null then
    v_after := replay._failure_to_go_on_from(v_hosts, p_after);
  end if;

  return query
  select f.host_id, f.failure_id, p.projection, p.consumer_group, f.transaction_id, f.status,
    f.replayable, f.member_count, f.byte_count,
    replay._failure_scopes(f.host_id, f.failure_id), f.error_code, f.error_text, f.error_handler,
    f.error_line, f.error_constraint, f.error_table, f.error_column, f.captured_at,
    f.resolution_code, f.resolved_at, f.resolved_by_request_id
  from replay.failure f
  join replay.projection p on p.projection_id = f.projection_id
  where (p_host_id is null or f.host_id = p_host_id)
    and (v_hosts is null or f.host_id = any (v_hosts))
    and (p_projection is null or p.projection = p_projection)
    and (p_consumer_group is null or p.consumer_group = p_consumer_group)
    and (p_status is null or f.status = p_status)
    and (p_error_code is null or f.error_code = p_error_code)
    -- An array, not `in`, which would ask it of each failure of the host.
    and (p_scope_key is null or f.failure_id = any (array(
      select s.failure_id
      from replay.failure_scope s
      where (p_host_id is null or s.host_id = p_host_id)
        and s.scope_type = p_scope_type and s.scope_key = p_scope_key
        and (p_status is distinct from 'OPEN' or s.is_open))))
    and (p_after is null or (f.host_id, f.captured_at, f.failure_id)
      > (v_after.host_id, v_after.captured_at, v_after.failure_id))
  order by f.host_id, f.captured_at, f.failure_id
  limit p_limit;
end;
$$;

comment on function replay.list_failures is
'List failures, the oldest first (of several hosts, host by host), without payloads.

Each filter may be null: all. p_status: OPEN, RESOLVED, WAIVED or null. p_scope_type with
p_scope_key: those that hold this scope. p_after: the failure_id of the last row of the page
before; a page begun is never shifted by what is captured or resolved meanwhile. p_limit: 1 to 1000.
Raises RP001 when a filter or p_limit is malformed; RP102 when p_after names no failure.';

revoke all on function replay.list_failures from public;
grant execute on function replay.list_failures to replay_reader;
