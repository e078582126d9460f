create or replace function replay.get_timeline(p_host_id uuid, p_request_id uuid)
  returns setof replay.timeline_entry
  language plpgsql
  stable
  security definer
  set search_path = ''
as $$
begin
  perform replay._check_host(p_host_id);
  perform replay._check_request(p_host_id, p_request_id);
  return query
  select (t.entry).at, (t.entry).kind, (t.entry).actor, (t.entry).fence, (t.entry).item_no,
    (t.entry).summary, jsonb_strip_nulls((t.entry).detail)
  from (
    select * from replay._timeline_commands(p_host_id, p_request_id)
    union all
    select * from replay._timeline_runs(p_host_id, p_request_id)
    union all
    select * from replay._timeline_chunks(p_host_id, p_request_id)
    union all
    select * from replay._timeline_items(p_host_id, p_request_id)
    union all
    select * from replay._timeline_barriers(p_host_id, p_request_id)
  ) t
  -- The audit is written under the request's row lock, so its order is that of what happened, also
  -- within one instant of the clock and when that is set back.
  order by t.audit_id, t.place, (t.entry).item_no;
end;
$$;

comment on function replay.get_timeline is
'Tell what happened to a request, the oldest first: commands with who and why, claims with their
fences, chunks with the barriers that they raised and lowered, attempts, the end, what was drained
behind it; at last the barriers that stand now.

Raises RP103 when there is no such request.';

revoke all on function replay.get_timeline from public;
grant execute on function replay.get_timeline to replay_reader;
