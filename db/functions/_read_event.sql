create or replace function replay._read_event(
  p_payload bytea,
  p_ordinal int,
  p_transaction_id text default null,
  p_place int default null
)
  returns replay.member_envelope
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_text text;
  v_json jsonb;
  v_malformed text := 'JSON';
begin
  begin
    v_text := convert_from(p_payload, 'UTF8');
    v_json := v_text::jsonb;
    v_malformed := replay._malformed_attribute(v_text::json, v_json);
  exception when data_exception or program_limit_exceeded then
    -- The server's own words quote the payload; ours only say where.
    v_malformed := 'JSON';
  end;
  if v_malformed is not null then
    raise exception 'event % is malformed: %', p_ordinal, v_malformed
      using errcode = 'RP002',
            detail = jsonb_strip_nulls(jsonb_build_object('transaction_id', p_transaction_id,
              'ordinal', p_ordinal, 'attribute', v_malformed)),
            hint = 'Send a CloudEvent 1.0 in JSON with the attributes that docs/contract.md lists.';
  end if;

  return row(p_place, p_payload, v_json ->> 'id', v_json ->> 'type', v_json ->> 'eventschema',
    v_json ->> 'host', v_json ->> 'transactionid', v_json ->> 'transactioncount',
    v_json ->> 'transactionordinal',
    v_json ->> 'aggregatetype', v_json ->> 'subject', v_json ->> 'aggregateversion',
    v_json ->> 'graphroot', v_json ->> 'graphrevision',
    jsonb_typeof(v_json -> 'data'))::replay.member_envelope;
end;
$$;

comment on function replay._read_event is
'Read the envelope out of the bytes of one event.

p_ordinal and p_transaction_id only serve the error; p_place is kept.
Raises RP002 when the bytes are no JSON object that jsonb can hold, hold a key twice, or miss or
misform an attribute, see replay._malformed_attribute; it names the attribute, never a value.';

revoke all on function replay._read_event from public;
