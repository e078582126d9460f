create or replace function replay._check_exclusions(p_event_types text[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_refused jsonb;
begin
  select jsonb_build_object('event_type', x.event_type, 'fault',
    case when e.policy is null then 'UNKNOWN' else 'ORDERED' end)
  into v_refused
  from unnest(p_event_types) x (event_type)
  left join replay.registry_entry e on e.event_type = x.event_type
    and e.registry_version = (select max(r.registry_version) from replay.registry r)
  where e.policy is null or e.policy in ('GRAPH_ROOT', 'AGGREGATE_VERSION')
  limit 1;

  if not found then
    select jsonb_build_object('event_type', h.event_type, 'fault', 'HELD')
    into v_refused
    from replay._ordered_holders(p_event_types) h
    limit 1;
  end if;
  if v_refused is not null then
    raise exception 'event type "%" cannot be excluded: %', v_refused ->> 'event_type',
        v_refused ->> 'fault'
      using errcode = 'RP226', detail = v_refused,
            hint = 'Only unordered types of the registry, and only while no ordered transaction '
              || 'with one is OPEN, deferred or unread.';
  end if;
end;
$$;

comment on function replay._check_exclusions is
'Check that event types may be excluded from replay.

Raises RP226 for one that is unknown or ordered, or held by an ordered transaction.';

revoke all on function replay._check_exclusions from public;
