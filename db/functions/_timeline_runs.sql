create or replace function replay._timeline_runs(p_host_id uuid, p_request_id uuid)
  returns setof replay.timeline_entry
  language sql
  stable
begin atomic
  select r.started_at, 'RUN', r.claimed_by, r.fence, null::int, 'run ' || r.fence || ' started',
    '{}'::jsonb
  from replay.run r
  where r.host_id = p_host_id and r.request_id = p_request_id
  union all
  select r.ended_at, 'RUN', r.claimed_by, r.fence, null,
    format('run %s %s after %s chunks', r.fence, lower(r.status), r.chunk_count),
    jsonb_build_object('status', r.status, 'chunk_count', r.chunk_count)
  from replay.run r
  where r.host_id = p_host_id and r.request_id = p_request_id and r.ended_at is not null;
end;

comment on function replay._timeline_runs is 'When the runs of a request began and how they ended.';

revoke all on function replay._timeline_runs from public;
