create or replace function replay._actor()
  returns text
  language sql
  stable
  return session_user::text;

comment on function replay._actor is
'Name who calls: the login role, whatever role the session or a definer function has taken on.';

revoke all on function replay._actor from public;
