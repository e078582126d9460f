create or replace function replay._timeline_chunks(p_host_id uuid, p_request_id uuid)
  returns table (audit_id bigint, place int, entry replay.timeline_entry)
  language sql
  stable
begin atomic
  select a.audit_id, 1, row(a.recorded_at,
    case a.action when 'RUN_DRAINED' then 'DRAIN' else 'CHUNK' end, a.actor, d.fence, null,
    case a.action
      when 'RUN_CHUNK_BEGUN' then format('chunk %s of run %s begun: %s items, %s scopes barred',
        d.chunk_no, d.fence, d.item_count, d.scope_count)
      when 'RUN_CHUNK_SETTLED' then format(
        'chunk %s of run %s settled: %s barriers lowered, %s deferred transactions woken',
        d.chunk_no, d.chunk_fence, d.barrier_count, d.woken_count)
      else format('what waited was drained: %s applied, %s failed anew', d.applied_count,
        d.failed_count)
    end,
    a.detail - 'fence')::replay.timeline_entry
  from replay.audit a
  cross join lateral jsonb_to_record(a.detail) d (fence bigint, chunk_fence bigint, chunk_no int,
    item_count int, scope_count int, barrier_count int, woken_count int, applied_count bigint,
    failed_count bigint)
  where a.host_id = p_host_id and a.request_id = p_request_id
    and a.action in ('RUN_CHUNK_BEGUN', 'RUN_CHUNK_SETTLED', 'RUN_DRAINED');
end;

comment on function replay._timeline_chunks is
'Which chunks a request was executed in, who settled each, and what was drained behind them.';

revoke all on function replay._timeline_chunks from public;
