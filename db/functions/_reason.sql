create or replace function replay._reason(p_reason text)
  returns text
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_reason text := btrim(p_reason, E' \t\r\n');
begin
  if v_reason is null or v_reason = '' then
    raise exception 'a reason is missing'
      using errcode = 'RP001',
            detail = jsonb_build_object('argument', 'reason'),
            hint = 'Say why, in a sentence: it is kept in the audit.';
  end if;
  if octet_length(v_reason) > 4000 then
    raise exception 'a reason of % bytes is too long', octet_length(v_reason)
      using errcode = 'RP001',
            detail = jsonb_build_object('argument', 'reason', 'limit', 4000),
            hint = 'Say it in at most 4000 bytes, or name a ticket that says more.';
  end if;
  return v_reason;
end;
$$;

comment on function replay._reason is
'Trim a reason that has to be given.

Raises RP001 when it is null, empty or longer than 4000 bytes.';

revoke all on function replay._reason from public;
