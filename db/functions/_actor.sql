create or replace function replay._actor()
  returns text
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_asserted text := current_setting('replay.actor', true);
begin
  if coalesce(v_asserted, '') = '' and coalesce(current_setting('replay.host', true), '') = '' then
    return session_user::text;
  end if;
  -- A setting can be forged by anybody. It counts only for who may assert one anyway.
  if not pg_has_role(session_user, 'replay_gateway', 'member') then
    raise exception 'role "%" may not act for somebody else', session_user
      using errcode = 'RP402', detail = '{}',
            hint = 'Reset replay.actor and replay.host; only members of replay_gateway set them.';
  end if;
  return coalesce(nullif(v_asserted, ''), session_user::text);
end;
$$;

comment on function replay._actor is
'Name who calls: the login role, whatever role the session or a definer function has taken on, or
whom a member of replay_gateway has asserted for this database transaction.

Raises RP402 when somebody else has set what assert_actor sets.';

revoke all on function replay._actor from public;
grant execute on function replay._actor to replay_reader, replay_appender;
