create or replace function replay._check_chosen(
  p_host_id uuid,
  p_projection_id int,
  p_failure_ids uuid[]
)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_failure_id uuid;
  v_status text;
begin
  select c.failure_id, f.status into v_failure_id, v_status
  from unnest(p_failure_ids) with ordinality c (failure_id, ord)
  left join replay.failure f
    on (f.host_id, f.failure_id, f.projection_id) = (p_host_id, c.failure_id, p_projection_id)
  where f.status is distinct from 'OPEN'
  order by c.ord
  limit 1;

  if v_failure_id is not null and v_status is null then
    perform replay._refuse_unknown_failure(p_host_id, v_failure_id);
  end if;
  if v_status is not null then
    raise exception 'failure % is %', v_failure_id, v_status
      using errcode = 'RP207',
            detail = jsonb_build_object('failure_id', v_failure_id, 'status', v_status),
            hint = 'Only an OPEN failure can be replayed; leave this one out.';
  end if;
end;
$$;

comment on function replay._check_chosen is
'Check that chosen failures are OPEN failures of this projection.

Raises RP102 when the host has no such failure in it; RP207 when one is RESOLVED or WAIVED.';

revoke all on function replay._check_chosen from public;
