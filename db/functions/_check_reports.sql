create or replace function replay._check_reports(p_failures jsonb)
  returns int[]
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_items int[];
begin
  if jsonb_typeof(p_failures) is distinct from 'array' or jsonb_path_exists(p_failures,
    '$[*] ? (!(@.ord.type() == "number" && @.ord == @.ord.floor() && @.ord > 0
      && @.ord < 100000 && @.error_code.type() == "string" && @.error_code != ""))')
  then
    raise exception 'an error report does not say what failed, or how'
      using errcode = 'RP001', detail = '{"argument": "failures"}',
            hint = 'Give an array of objects, each with a number "ord" and a text "error_code".';
  end if;

  v_items := array(select (r.value -> 'ord')::int from jsonb_array_elements(p_failures) r);
  if cardinality(v_items) <> (select count(distinct i.item) from unnest(v_items) i (item)) then
    raise exception 'an item is reported twice'
      using errcode = 'RP001', detail = jsonb_build_object('failed', v_items),
            hint = 'Report each item that failed once.';
  end if;
  return v_items;
end;
$$;

comment on function replay._check_reports is
'Check the error reports of a driver, and return which items they are about.

Raises RP001 unless they are an array of objects that name an item, each another, and an error code.';

revoke all on function replay._check_reports from public;
