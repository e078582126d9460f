create or replace function replay._store_events(
  p_host_id uuid,
  p_transaction_ids text[],
  p_members replay.member_envelope[]
)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_stored int;
  v_taken record;
begin
  insert into replay.event (host_id, transaction_id, ordinal, event_id, event_type, event_schema,
    payload)
  select p_host_id, m.transaction_id, m.transaction_ordinal, m.event_id, m.event_type,
    m.event_schema, m.payload
  from unnest(p_members) m
  on conflict (host_id, event_id) do nothing;
  get diagnostics v_stored = row_count;

  if v_stored < cardinality(p_members) then
    select p_transaction_ids[m.place] as transaction_id, m.transaction_ordinal as ordinal,
      e.transaction_id as stored_in
    into v_taken
    from unnest(p_members) m
    join replay.event e on (e.host_id, e.event_id) = (p_host_id, m.event_id)
    where (e.transaction_id, e.ordinal) <> (m.transaction_id, m.transaction_ordinal)
    order by m.place, m.transaction_ordinal
    limit 1;
    raise exception 'event % of transaction "%": its id is taken by transaction "%"',
        v_taken.ordinal, v_taken.transaction_id, v_taken.stored_in
      using errcode = 'RP202',
            detail = to_jsonb(v_taken),
            hint = 'Give each event an id of its own within the host.';
  end if;
end;
$$;

comment on function replay._store_events is
'Store the members of transactions.

Raises RP202 when the host has an event of that id already, or two of these share one.';

revoke all on function replay._store_events from public;
