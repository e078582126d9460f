create or replace function replay.assert_actor(p_actor text, p_host_id uuid)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  if p_host_id is null or (octet_length(p_actor) between 1 and 512) is not true then
    raise exception 'an actor has a name of 1 to 512 bytes and a host'
      using errcode = 'RP001', detail = '{"argument": "actor"}',
            hint = 'Assert whom the service has authenticated, for the host of the request.';
  end if;
  perform set_config('replay.actor', p_actor, true);
  perform set_config('replay.host', p_host_id::text, true);
end;
$$;

comment on function replay.assert_actor is
'Act for somebody whom the caller, a service, has authenticated: until the end of the database
transaction p_actor is the actor, and p_host_id the only host. They must be a member of it. What the
service itself is granted bounds what they may do.

Raises RP001 without a name or a host.';

revoke all on function replay.assert_actor from public;
grant execute on function replay.assert_actor to replay_gateway;
