create or replace function replay._read_members(
  p_host_id uuid,
  p_transaction_ids text[],
  p_member_counts int[],
  p_events bytea[]
)
  returns replay.member_envelope[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_first constant int[] := replay._first_positions(p_member_counts);
  v_members replay.member_envelope[];
  v_well boolean;
begin
  begin
    select array_agg(row(c.place, u.payload, e.id, e.type, e.eventschema, p_host_id,
        e.transactionid, e.transactioncount, e.transactionordinal, e.aggregatetype, e.subject,
        e.aggregateversion, e.graphroot, e.graphrevision,
        jsonb_typeof(j.event -> 'data'))::replay.member_envelope),
      bool_and(coalesce(e.host = p_host_id::text
        and e.transactionid = p_transaction_ids[c.place]
        and e.transactioncount = p_member_counts[c.place]
        and e.transactionordinal = u.position - v_first[c.place]
        and (e.aggregatetype like '%:%') is not true
        and replay._is_well_shaped(j.event, e.time, concat(e.specversion, e.id, e.source, e.type,
          e.transactionid, e.eventschema, e.subject, e.aggregatetype, e.graphroot))
        and (
          -- json, unlike jsonb, shows repeated keys, and numbers as they were written.
          select count(*) = jsonb_array_length(jsonb_path_query_array(j.event, '$.*'))
            and bool_and(a.key not in ('transactioncount', 'transactionordinal',
              'aggregateversion', 'graphrevision') or a.value = j.event ->> a.key)
          from json_each_text(convert_from(u.payload, 'UTF8')::json) a), false))
    into v_members, v_well
    from unnest(p_events) with ordinality u (payload, position)
    cross join lateral (select width_bucket(u.position::int, v_first)) c (place)
    -- Offset 0: parsed once, not once a use.
    cross join lateral (select convert_from(u.payload, 'UTF8')::jsonb offset 0) j (event)
    cross join lateral jsonb_to_record(j.event) e (specversion text, id text, source text,
      type text, host text, transactionid text, transactioncount int, transactionordinal int,
      eventschema text, time text, aggregatetype text, subject text, aggregateversion bigint,
      graphroot text, graphrevision bigint);
  exception when data_exception or program_limit_exceeded then
    v_well := false;
  end;
  if v_well then
    return v_members;
  end if;
  return replay._read_one_by_one(p_host_id, p_transaction_ids, p_member_counts, p_events);
end;
$$;

comment on function replay._read_members is
'Read the members out of the bytes of a call, and check that they are its transactions.

All in one statement, which lets pass what is surely well: short texts, versions in plain digits.
When it doubts any, replay._read_one_by_one decides.
Raises RP002 when an event is malformed; RP003 when events are no complete transaction of that host
and id.';

revoke all on function replay._read_members from public;
