create or replace function replay._has_expired(p_status text, p_expires_at timestamptz)
  returns boolean
  language sql
  volatile
  return p_status in ('READY', 'AWAITING_APPROVAL', 'APPROVED')
    and p_expires_at <= replay._now();

comment on function replay._has_expired is
'Whether a plan is past its life though nobody has written that down yet. Expiry binds the intent:
one that is committed never expires.';

revoke all on function replay._has_expired from public;
grant execute on function replay._has_expired to replay_reader;
