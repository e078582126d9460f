create or replace function replay.list_requests(
  p_host_id uuid default null,
  p_status text default null,
  p_limit int default 100
)
  returns setof replay.request_status
  language plpgsql
  stable
  security definer
  set search_path = ''
  -- As in list_failures.
  set plan_cache_mode = 'force_custom_plan'
as $$
declare
  v_hosts uuid[] := replay._own_hosts(p_host_id);
begin
  perform replay._check_limit(p_limit);
  if p_status is not null then
    perform replay._check_choice('status', p_status, '{PLANNING,READY,AWAITING_APPROVAL,APPROVED,'
      'INSTALLING_BARRIER,RUNNING,SUCCEEDED,FAILED,CANCELLED,EXPIRED}');
  end if;

  return query
  select s.*
  from replay.request_status s
  where (p_host_id is null or s.host_id = p_host_id)
    and (v_hosts is null or s.host_id = any (v_hosts))
    and (p_status is null or s.status = p_status)
  order by s.requested_at desc, s.request_id desc
  limit p_limit;
end;
$$;

comment on function replay.list_requests is
'List replay requests, the newest first.

p_host_id, p_status: null for all. A plan past its life is EXPIRED here. p_limit: 1 to 1000.
Raises RP001 when p_status is none or p_limit is out of bounds.';

revoke all on function replay.list_requests from public;
grant execute on function replay.list_requests to replay_reader;
