create or replace function replay._check_entries(p_entries jsonb)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_wrong record;
begin
  if coalesce(jsonb_typeof(p_entries), '') <> 'array' then
    raise exception 'the entries are no JSON array'
      using errcode = 'RP007',
            detail = '{}',
            hint = 'Give an array of objects, as replay.publish_registry describes them.';
  end if;

  select w.ordinal, w.event_type, w.event_schema, w.fault into v_wrong
  from (
    select p.ordinal - 1, p.entry ->> 'event_type', p.entry ->> 'event_schema',
      coalesce(replay._entry_fault(p.entry), case when count(*) over (
        partition by p.entry ->> 'event_type', p.entry ->> 'event_schema') > 1
        then 'it stands here twice' end)
    from jsonb_array_elements(p_entries) with ordinality p (entry, ordinal)
  ) w (ordinal, event_type, event_schema, fault)
  where w.fault is not null
  order by w.ordinal
  limit 1;

  if found then
    raise exception 'registry entry % (type "%", schema "%"): %', v_wrong.ordinal,
        v_wrong.event_type, v_wrong.event_schema, v_wrong.fault
      using errcode = 'RP007',
            detail = to_jsonb(v_wrong),
            hint = 'Correct the entry; nothing was published.';
  end if;
end;
$$;

comment on function replay._check_entries is
'Check entries to be published.

Raises RP007 for the first one that is malformed, contradicts itself or stands twice.';

revoke all on function replay._check_entries from public;
