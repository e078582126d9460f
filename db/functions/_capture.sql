create or replace function replay._capture(p_xact_id xid8, p_failures jsonb)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  insert into replay.failure (host_id, failure_id, projection_id, transaction_id, status,
    fingerprint, registry_version, replayable, member_count, byte_count, lane, source_offset,
    error_code, error_text, error_handler, error_line, error_constraint, error_table,
    error_column, captured_at)
  select b.host_id, b.failure_id, b.projection_id, b.transaction_id, 'OPEN',
    replay._transaction_fingerprint(b.host_id, b.projection_id, b.transaction_id),
    t.registry_version, not t.runs_alone, t.member_count, t.byte_count, b.lane, b.source_offset,
    r.error_code, left(r.error_text, 1000), r.error_handler, r.error_line, r.error_constraint,
    r.error_table, r.error_column, replay._now()
  from replay.batch_item b
  join replay.transaction t on (t.host_id, t.transaction_id) = (b.host_id, b.transaction_id)
  join jsonb_populate_recordset(null::replay.error_report, p_failures) r on r.ord = b.ord
  where b.xact_id = p_xact_id and b.decision = 'FAIL';
  if not found then
    return;
  end if;

  insert into replay.failure_member (host_id, failure_id, ordinal, event_id, event_type,
    event_schema, aggregate_type, aggregate_id, aggregate_version, graph_root, graph_revision,
    format, payload)
  select b.host_id, b.failure_id, e.ordinal, e.event_id, e.event_type, e.event_schema,
    m.envelope ->> 'aggregatetype', m.envelope ->> 'subject',
    (m.envelope ->> 'aggregateversion')::bigint, m.envelope ->> 'graphroot',
    (m.envelope ->> 'graphrevision')::bigint,
    'CLOUDEVENTS_JSON', e.payload
  from replay.batch_item b
  join replay.event e on (e.host_id, e.transaction_id) = (b.host_id, b.transaction_id)
  -- The append has checked it. Offset 0: read it once.
  cross join lateral (
    select convert_from(e.payload, 'UTF8')::jsonb as envelope offset 0) m
  where b.xact_id = p_xact_id and b.decision = 'FAIL';

  insert into replay.failure_scope (host_id, failure_id, projection_id, scope_type, scope_key,
    first_version, last_version, is_open)
  select b.host_id, b.failure_id, b.projection_id, s.*, true
  from replay.batch_item b cross join unnest(b.scopes) s
  where b.xact_id = p_xact_id and b.decision = 'FAIL';

  perform replay._audit(b.host_id, 'FAILURE_CAPTURED', p_projection_id => b.projection_id,
    p_failure_id => b.failure_id, p_transaction_id => b.transaction_id)
  from replay.batch_item b
  where b.xact_id = p_xact_id and b.decision = 'FAIL';
end;
$$;

comment on function replay._capture is
'Keep the failed transactions of a batch as OPEN failures: members with their exact bytes, scopes,
fingerprint, and of the error only what cannot quote a payload.';

revoke all on function replay._capture from public;
