create or replace function replay._failure_to_go_on_from(p_host_id uuid, p_failure_id uuid)
  returns replay.failure
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_failure replay.failure;
begin
  select f.* into v_failure
  from replay.failure f
  where f.failure_id = p_failure_id and f.host_id = coalesce(p_host_id, f.host_id)
  order by f.host_id
  limit 1;

  if v_failure.failure_id is null then
    perform replay._refuse_unknown_failure(p_host_id, p_failure_id);
  end if;
  return v_failure;
end;
$$;

comment on function replay._failure_to_go_on_from is
'The last failure of the page before; without a host it is looked for in all.

Raises RP102 when there is no such failure.';

revoke all on function replay._failure_to_go_on_from from public;
