create or replace function replay._own_hosts(p_host_id uuid default null)
  returns uuid[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_hosts uuid[] := array(select o.host_id from replay.own_host o);
begin
  if array_position(v_hosts, null) is not null then
    v_hosts := null;
  end if;
  if p_host_id is null then
    return v_hosts;
  end if;
  if p_host_id = any (v_hosts) is false then
    raise exception '"%" is not allowed to act for this host', replay._actor()
      using errcode = 'RP401', detail = jsonb_build_object('host_id', p_host_id),
            hint = 'An owner of the engine adds members: pyreplay grant role, or replay.add_member.';
  end if;
  return array[p_host_id];
end;
$$;

comment on function replay._own_hosts is
'The hosts that a call is about: p_host_id, or all that the caller is a member of; null: every one.

Raises RP401 when the caller is no member of p_host_id.';

revoke all on function replay._own_hosts from public;
