create or replace function replay._started_projection(
  p_projection text,
  p_consumer_group text
)
  returns replay.projection
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_projection replay.projection;
begin
  select p.* into v_projection
  from replay.projection p
  where p.projection_id = replay._projection_id(p_projection, p_consumer_group);

  if v_projection.status in ('REGISTERED', 'RETIRED') then
    raise exception 'projection "%" is %', p_projection, v_projection.status
      using errcode = 'RP213', detail = jsonb_build_object('status', v_projection.status),
            hint = case v_projection.status when 'RETIRED' then 'It was given up for good; rows stay.'
              else 'Start it first: start_projection.' end;
  end if;
  return v_projection;
end;
$$;

comment on function replay._started_projection is
'A projection that has started, running or paused.

Raises RP101 when it is not registered; RP213 when it has not started or is retired.';

revoke all on function replay._started_projection from public;
