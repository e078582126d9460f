create or replace function replay.get_timeline(p_host_id uuid, p_request_id uuid)
  returns setof replay.timeline_entry
  language plpgsql
  stable
  security definer
  set search_path = ''
as $$
begin
  perform replay._check_request(p_host_id, p_request_id);
  return query
  select t.at, t.kind, t.actor, t.fence, t.item_no, t.summary, jsonb_strip_nulls(t.detail)
  from (
    select c.*, 1 as place from replay._timeline_commands(p_host_id, p_request_id) c
    union all
    select r.*, case when r.detail ? 'status' then 4 else 2 end
    from replay._timeline_runs(p_host_id, p_request_id) r
    union all
    select a.*, 3 from replay._timeline_items(p_host_id, p_request_id) a
  ) t
  order by t.at, t.fence nulls first, t.place, t.item_no, (t.detail -> 'audit_id')::bigint;
end;
$$;

comment on function replay.get_timeline is
'Tell what happened to a request, the oldest first: commands with who and why, runs, attempts and
the barriers that stand.

Raises RP103 when there is no such request.';

revoke all on function replay.get_timeline from public;
grant execute on function replay.get_timeline to replay_reader;
