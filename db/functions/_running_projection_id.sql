create or replace function replay._running_projection_id(
  p_projection text,
  p_consumer_group text
)
  returns int
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_projection_id int := replay._projection_id(p_projection, p_consumer_group);
  v_status text;
begin
  select p.status into v_status
  from replay.projection p
  where p.projection_id = v_projection_id;

  if v_status in ('REGISTERED', 'RETIRED') then
    raise exception 'projection "%" is %', p_projection, v_status
      using errcode = 'RP213', detail = jsonb_build_object('status', v_status),
            hint = 'Start it first: pyreplay start projection, or start_projection.';
  end if;
  return case when v_status = 'RUNNING' then v_projection_id end;
end;
$$;

comment on function replay._running_projection_id is
'The id of a running projection; null while it is paused.

Raises RP101 when it is not registered; RP213 when it has not started or is retired.';

revoke all on function replay._running_projection_id from public;
