create or replace function replay.add_member(p_member text, p_host_id uuid default null)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into replay.host_member (host_id, member, granted_by, granted_at)
  values (p_host_id, p_member, replay._actor(), replay._now())
  on conflict do nothing;
  if found then
    perform replay._audit(p_host_id, 'MEMBER_ADDED',
      p_detail => jsonb_build_object('member', p_member));
  end if;
end;
$$;

comment on function replay.add_member is
'Make a login role, or a person that a gateway vouches for, a member of a host; again does nothing.
What it may do there is granted with the roles: grant replay_reader to ... For owners of the engine.

p_host_id: null: every host, those to come as well.';

revoke all on function replay.add_member from public;
