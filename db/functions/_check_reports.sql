create or replace function replay._check_reports(p_failures jsonb)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if jsonb_typeof(p_failures) is distinct from 'array' or jsonb_path_exists(p_failures,
    '$[*] ? (!(@.ord.type() == "number" && @.error_code.type() == "string"))')
  then
    raise exception 'an error report does not say what failed, or how'
      using errcode = 'RP001', detail = '{"argument": "failures"}',
            hint = 'Give an array of objects, each with a number "ord" and a text "error_code".';
  end if;
end;
$$;
comment on function replay._check_reports is
'Check the error reports of a driver.
Raises RP001 unless they are an array of objects that name an item and an error code.';

revoke all on function replay._check_reports from public;
