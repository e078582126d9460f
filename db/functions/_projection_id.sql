create or replace function replay._projection_id(p_projection text, p_consumer_group text)
  returns int
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_projection_id int;
begin
  select p.projection_id into v_projection_id
  from replay.projection p
  where (p.projection, p.consumer_group) = (p_projection, p_consumer_group);

  if v_projection_id is null then
    raise exception 'no projection "%" of consumer group "%" is registered',
      p_projection, p_consumer_group
      using errcode = 'RP101',
            detail = jsonb_build_object('projection', p_projection,
              'consumer_group', p_consumer_group),
            hint = 'The view replay.health shows those that are; or call register_projection.';
  end if;
  return v_projection_id;
end;
$$;

comment on function replay._projection_id is
'Find a projection by its name and consumer group.

Raises RP101 when it is not registered.';

revoke all on function replay._projection_id from public;
