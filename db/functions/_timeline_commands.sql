create or replace function replay._timeline_commands(p_host_id uuid, p_request_id uuid)
  returns table (audit_id bigint, place int, entry replay.timeline_entry)
  language sql
  stable
begin atomic
  select a.audit_id, 1, row(a.recorded_at, 'COMMAND', a.actor, null, null,
    lower(replace(a.action, '_', ' ')) || coalesce(': ' || a.reason, ''),
    a.detail || jsonb_build_object('audit_id', a.audit_id))::replay.timeline_entry
  from replay.audit a
  where a.host_id = p_host_id and a.request_id = p_request_id
    -- These tell what runs, chunks and attempts tell better.
    and a.action not in ('REQUEST_CLAIMED', 'REQUEST_RUNNING', 'FAILURE_RESOLVED')
    and a.action not like 'RUN\_%';
end;

comment on function replay._timeline_commands is
'What people asked of a request, and why.';

revoke all on function replay._timeline_commands from public;
