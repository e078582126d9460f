create or replace function replay._failure_to_go_on_from(p_host_ids uuid[], p_failure_id uuid)
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
  where f.failure_id = p_failure_id and (p_host_ids is null or f.host_id = any (p_host_ids))
  order by f.host_id
  limit 1;

  if v_failure.failure_id is null then
    perform replay._refuse_unknown_failure(p_host_ids[1], p_failure_id);
  end if;
  return v_failure;
end;
$$;

comment on function replay._failure_to_go_on_from is
'The last failure of the page before; null: it is looked for in all hosts.

Raises RP102 when there is no such failure.';

revoke all on function replay._failure_to_go_on_from from public;
