create or replace function replay._malformed_attribute(p_json json, p_jsonb jsonb)
  returns text
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_required constant text[] := array['specversion', 'id', 'source', 'type', 'host',
    'transactionid', 'transactioncount', 'transactionordinal', 'eventschema', 'data'];
  v_attribute text;
begin
  -- json, unlike jsonb, shows repeated keys, and numbers as they were written.
  select case when count(*) <> count(distinct a.key collate "C") then 'a key stands twice' else
    min(a.key) filter (where not case
      when a.value::text = 'null' then a.key <> all (v_required) or a.key = 'data'
      when a.key = 'specversion' then p_jsonb -> a.key = '"1.0"'
      when a.key = 'host' then jsonb_typeof(p_jsonb -> a.key) = 'string'
        and p_jsonb ->> a.key ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
      when a.key = 'transactioncount' then a.value::text ~ '^[1-9][0-9]{0,8}$'
      when a.key = 'transactionordinal' then a.value::text ~ '^(0|[1-9][0-9]{0,8})$'
      when a.key in ('aggregateversion', 'graphrevision') then
        a.value::text ~ '^[1-9][0-9]{0,18}$'
        and (p_jsonb -> a.key)::numeric <= 9223372036854775807
      when a.key = 'time' then jsonb_typeof(p_jsonb -> a.key) = 'string' and p_jsonb ->> a.key
        ~ '^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$'
      when a.key in ('id', 'source', 'type', 'transactionid', 'eventschema', 'subject',
          'aggregatetype', 'graphroot') then
        jsonb_typeof(p_jsonb -> a.key) = 'string'
        and octet_length(p_jsonb ->> a.key) between 1 and 512
        and p_jsonb ->> a.key !~ '[\u0001-\u001f\u007f-\u009f]'
        -- A scope is `type:id`; with a colon in the type, two scopes could share a key.
        and (a.key <> 'aggregatetype' or strpos(p_jsonb ->> a.key, ':') = 0)
      else true
    end) end
  into v_attribute
  from json_each(p_json) a;
  return coalesce(v_attribute,
    (select r.name from unnest(v_required) r (name) where not p_jsonb ? r.name limit 1));
end;
$$;

comment on function replay._malformed_attribute is
'Name the first envelope attribute that is missing or malformed; null when all is well.

Texts are 1 to 512 bytes without control characters, versions positive bigints written as plain
integers, time is RFC 3339, host a UUID, and an aggregate type holds no colon. An attribute that is
null counts as absent. p_json and p_jsonb are the same event.';

revoke all on function replay._malformed_attribute from public;
