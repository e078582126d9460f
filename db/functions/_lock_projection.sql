create or replace function replay._lock_projection(p_projection text, p_consumer_group text)
  returns replay.projection
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_projection replay.projection;
begin
  select p.* into v_projection
  from replay.projection p
  where p.projection_id = replay._projection_id(p_projection, p_consumer_group)
  for no key update;
  return v_projection;
end;
$$;

comment on function replay._lock_projection is
'Lock a projection for a change of its lifecycle and return it.

Raises RP101 when it is not registered.';

revoke all on function replay._lock_projection from public;
