create or replace function replay._timeline_runs(p_host_id uuid, p_request_id uuid)
  returns table (audit_id bigint, place int, entry replay.timeline_entry)
  language sql
  stable
begin atomic
  select a.audit_id, 1, row(a.recorded_at, 'RUN', r.claimed_by, r.fence, null, s.summary,
    s.detail)::replay.timeline_entry
  from replay.audit a
  join replay.run r
    on (r.host_id, r.request_id, r.fence)
      = (a.host_id, a.request_id, (a.detail -> 'fence')::bigint)
  cross join lateral (
    select 'run ' || r.fence || ' started' as summary, '{}'::jsonb as detail
    where a.action = 'REQUEST_CLAIMED'
    union all
    select
      format('run %s %s after %s chunks', r.fence, lower(r.status), r.chunk_count)
        || coalesce(': ' || (a.detail ->> 'failure_code'), ''),
      jsonb_build_object('status', r.status, 'chunk_count', r.chunk_count, 'failure_code',
        a.detail -> 'failure_code')
    where a.action = 'RUN_' || r.status
  ) s
  where a.host_id = p_host_id and a.request_id = p_request_id;
end;

comment on function replay._timeline_runs is 'When the runs of a request began and how they ended.';

revoke all on function replay._timeline_runs from public;
