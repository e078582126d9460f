create or replace function replay._store_events(
  p_host_id uuid,
  p_transaction_id text,
  p_events bytea[],
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
  select p_host_id, p_transaction_id, u.transaction_ordinal, u.event_id, u.event_type,
    u.event_schema, u.payload
  from rows from (unnest(p_events), unnest(p_members)) u (payload)
  on conflict (host_id, event_id) do nothing;
  get diagnostics v_stored = row_count;

  if v_stored < cardinality(p_members) then
    select m.transaction_ordinal as ordinal, e.transaction_id as stored_in into v_taken
    from unnest(p_members) m
    join replay.event e on (e.host_id, e.event_id) = (p_host_id, m.event_id)
    where (e.transaction_id, e.ordinal) <> (p_transaction_id, m.transaction_ordinal)
    order by m.transaction_ordinal
    limit 1;
    raise exception 'event % of transaction "%": its id is taken by transaction "%"',
        v_taken.ordinal, p_transaction_id, v_taken.stored_in
      using errcode = 'RP202',
            detail = to_jsonb(v_taken) || jsonb_build_object('transaction_id', p_transaction_id),
            hint = 'Give each event an id of its own within the host.';
  end if;
end;
$$;

comment on function replay._store_events is
'Store the members of a transaction.

Raises RP202 when the host has an event of that id already, or two of these share one.';

revoke all on function replay._store_events from public;
