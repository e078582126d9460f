create or replace function replay.register_projection(
  p_projection text,
  p_consumer_group text default 'default'
)
  returns replay.projection
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_actor text := replay._actor();
  v_projection replay.projection;
begin
  if (p_projection ~ '^[A-Za-z0-9_.-]{1,100}$'
    and p_consumer_group ~ '^[A-Za-z0-9_.-]{1,100}$') is not true
  then
    raise exception 'a projection or consumer group has no usable name'
      using errcode = 'RP001',
            detail = jsonb_build_object('projection', p_projection, 'consumer_group', p_consumer_group),
            hint = 'Use 1 to 100 letters, digits, ".", "_" or "-".';
  end if;

  insert into replay.projection as p
    (projection, consumer_group, status, registered_at, registered_by)
  values (p_projection, p_consumer_group, 'REGISTERED', replay._now(), v_actor)
  on conflict do nothing
  returning * into v_projection;

  if found then
    perform replay._audit(null, 'PROJECTION_REGISTERED',
      p_projection_id => v_projection.projection_id);
    return v_projection;
  end if;

  select p.* into strict v_projection
  from replay.projection p
  where p.projection = p_projection and p.consumer_group = p_consumer_group;
  return v_projection;
end;
$$;

comment on function replay.register_projection is
'Make a projection known and return it; one that is known already is returned as it is.

Raises RP001 when a name is not usable.';

revoke all on function replay.register_projection from public;
grant execute on function replay.register_projection to replay_operator, replay_processor;
