create or replace function replay.get_failure(p_host_id uuid, p_failure_id uuid)
  returns replay.failure_detail
  language plpgsql
  stable
  security definer
  set search_path = ''
as $$
declare
  v_failure replay.failure_detail;
begin
  perform replay._check_host(p_host_id);
  select f.host_id, f.failure_id, p.projection, p.consumer_group, f.transaction_id, f.status,
    f.replayable, f.member_count, f.byte_count,
    replay._failure_scopes(f.host_id, f.failure_id), f.error_code, f.error_text, f.error_handler,
    f.error_line, f.error_constraint, f.error_table, f.error_column, f.captured_at,
    f.resolution_code, f.resolved_at, f.resolved_by_request_id, f.registry_version, f.fingerprint,
    f.lane, f.source_offset, replay._failure_members(f.host_id, f.failure_id),
    (select count(*) from replay.observation o
      where (o.host_id, o.projection_id, o.transaction_id)
        = (f.host_id, f.projection_id, f.transaction_id)),
    (select count(*)
      from replay._waiting_behind(f.host_id, f.projection_id, array[f.failure_id]))
  into v_failure
  from replay.failure f
  join replay.projection p on p.projection_id = f.projection_id
  where f.host_id = p_host_id and f.failure_id = p_failure_id;

  if v_failure.failure_id is null then
    perform replay._refuse_unknown_failure(p_host_id, p_failure_id);
  end if;
  return v_failure;
end;
$$;

comment on function replay.get_failure is
'Get everything that is kept of a failure but the payloads of its members.

Raises RP102 when the host has no such failure.';

revoke all on function replay.get_failure from public;
grant execute on function replay.get_failure to replay_reader;
