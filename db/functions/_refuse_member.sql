create or replace function replay._refuse_member(p_member jsonb)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if p_member ->> 'fault' = 'UNKNOWN' then
    raise exception 'event %: type "%" with schema "%" is unknown', p_member ->> 'ordinal',
        p_member ->> 'event_type', p_member ->> 'event_schema'
      using errcode = 'RP006',
            detail = p_member,
            hint = 'Publish it with replay.publish_registry, or correct the event.';
  end if;
  if p_member ->> 'fault' = 'DATA' then
    raise exception 'event %: the data of type "%" is no JSON object', p_member ->> 'ordinal',
        p_member ->> 'event_type'
      using errcode = 'RP008',
            detail = p_member,
            hint = 'Send an object, or publish a JSON Schema that allows something else.';
  end if;
  raise exception 'event %: policy % does not go with ordering evidence %', p_member ->> 'ordinal',
      p_member ->> 'policy', p_member ->> 'evidence'
    using errcode = 'RP005',
          detail = p_member,
          hint = 'GRAPH_ROOT needs graphroot and graphrevision; AGGREGATE_VERSION needs '
            || 'aggregatetype, subject and aggregateversion; the other policies allow neither.';
end;
$$;

comment on function replay._refuse_member is
'Raise what replay._check_policies found.

Raises RP005 for ordering evidence that its policy does not ask for; RP006 for an unknown type;
RP008 for data that is no JSON object.';

revoke all on function replay._refuse_member from public;
