create or replace function replay._check_removed(p_entries jsonb, p_removed jsonb)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_pinned record;
begin
  if coalesce(jsonb_typeof(p_removed), '') <> 'array' or exists (
    select from jsonb_array_elements(p_removed) r (entry)
    where jsonb_typeof(r.entry -> 'event_type') is distinct from 'string'
      or jsonb_typeof(r.entry -> 'event_schema') is distinct from 'string'
      or p_entries @> jsonb_build_array(r.entry)
  ) then
    raise exception 'what is to be removed is malformed, or published by the same call'
      using errcode = 'RP007',
            detail = '{}',
            hint = 'Give objects with event_type and event_schema, none of them in both arrays.';
  end if;

  -- A scan of the events, when somebody removes something: not worth an index on each append.
  select e.event_type, e.event_schema into v_pinned
  from jsonb_to_recordset(p_removed) r (event_type text, event_schema text)
  join replay.event e on (e.event_type, e.event_schema) = (r.event_type, r.event_schema)
  limit 1;

  if found then
    raise exception 'stored events are of type "%" with schema "%"', v_pinned.event_type,
        v_pinned.event_schema
      using errcode = 'RP206',
            detail = to_jsonb(v_pinned),
            hint = 'Keep the entry: what is stored must stay readable.';
  end if;
end;
$$;

comment on function replay._check_removed is
'Check that what is to be removed from the registry is not in use.

Raises RP007 when p_removed is malformed or names what p_entries publishes; RP206 when a stored
event is of that type and schema.';

revoke all on function replay._check_removed from public;
