create or replace function replay._refuse_held_request(
  p_request_id uuid,
  p_lease_until timestamptz
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  raise exception 'somebody else holds request % now', p_request_id
    using errcode = 'RP212',
          detail = jsonb_build_object('request_id', p_request_id, 'lease_until', p_lease_until),
          hint = 'Look at the request, and try again when it is idle or its lease has ended.';
end;
$$;

comment on function replay._refuse_held_request is
'Say that somebody else executes or decides a request at this moment, and until when at most.

Raises RP212, always.';

revoke all on function replay._refuse_held_request from public;
