-- Any number of OPEN failures at once, as if so many first steps of permit cases had been appended
-- and every one had failed. Needs the engine, the registry of examples/permits and a started
-- projection; `vacuum (analyze)` is the caller's.
create schema if not exists bench;

create function bench.failing(p_count int)
  returns table (
    host_id uuid,
    number bigint,
    transaction_id text,
    event_id text,
    case_id text,
    failure_id uuid,
    payload bytea,
    failed_at timestamptz
  )
  language sql
  stable
begin atomic
  -- Ids that grow in the order of the rows, host by host: so are all indexes filled at their end.
  select h.host_id, n, i.transaction_id, i.event_id, i.case_id,
    format('%s-0000-4000-8000-%s', lpad(h.place::text, 8, '0'), lpad(n::text, 12, '0'))::uuid,
    convert_to(format('{"specversion":"1.0","id":"%s","source":"urn:bench",'
      '"type":"ConfirmationOfReceiptEvent","subject":"%s","time":"2010-10-02T09:20:39+02:00",'
      '"host":"%s","transactionid":"%s","aggregatetype":"PermitCase","aggregateversion":1,'
      '"eventschema":"1","data":{"caseId":"%s","step":"Confirmation of receipt","taskId":"",'
      '"channel":"","department":"","responsible":"","resource":"","resourceGroup":"",'
      '"caseGroup":"","startDate":"","deadline":"2010-11-26 00:00:00+01:00","endDatePlanned":"",'
      '"endDate":""},"transactioncount":1,"transactionordinal":0}',
      i.event_id, i.case_id, h.host_id, i.transaction_id, i.case_id), 'UTF8'),
    statement_timestamp() - (p_count / 10 - n) * interval '10 ms'
  from (
    select g.place, md5('host' || g.place)::uuid as host_id
    from generate_series(0, 9) g (place)
  ) h
  cross join generate_series(1, (p_count + 9 - h.place) / 10) n
  cross join lateral (
    select 'failing-' || lpad(n::text, 7, '0'), 'event-' || lpad(n::text, 7, '0'),
      'case-' || lpad(n::text, 7, '0')
  ) i (transaction_id, event_id, case_id);
end;
comment on function bench.failing is 'One transaction of one event each, in ten hosts.';

create function bench.append_failing(p_count int)
  returns void
  language sql
  volatile
begin atomic
  insert into replay.transaction (host_id, transaction_id, registry_version, member_count,
    byte_count, runs_alone, scopes, appended_at, appended_by)
  select f.host_id, f.transaction_id, (select max(r.registry_version) from replay.registry r), 1,
    octet_length(f.payload), false,
    array[row('AGGREGATE', replay._aggregate_key('PermitCase', f.case_id), 1, 1)
      ::replay.scope_range],
    f.failed_at, session_user
  from bench.failing(p_count) f;

  insert into replay.event (host_id, transaction_id, ordinal, event_id, event_type, event_schema,
    payload)
  select f.host_id, f.transaction_id, 0, f.event_id, 'ConfirmationOfReceiptEvent', '1', f.payload
  from bench.failing(p_count) f;

  insert into replay.stream_head (host_id, scope_type, scope_key, version)
  select f.host_id, 'AGGREGATE', replay._aggregate_key('PermitCase', f.case_id), 1
  from bench.failing(p_count) f;

  insert into replay.outbox (host_id, lane, source_offset, transaction_id)
  select f.host_id, 0, f.number, f.transaction_id
  from bench.failing(p_count) f;

  insert into replay.outbox_lane (host_id, lane, last_offset)
  select f.host_id, 0, max(f.number)
  from bench.failing(p_count) f
  group by f.host_id;
end;
comment on function bench.append_failing is 'Store them as append_transaction would have.';

create function bench.capture_failing(p_count int, p_projection replay.projection)
  returns void
  language sql
  volatile
begin atomic
  insert into replay.failure (host_id, failure_id, projection_id, transaction_id, status,
    fingerprint, registry_version, replayable, member_count, byte_count, lane, source_offset,
    error_code, error_handler, captured_at)
  select f.host_id, f.failure_id, (p_projection).projection_id, f.transaction_id, 'OPEN',
    -- As replay._fingerprint, which takes ten times as long.
    sha256(replay._frame('pyreplay.fingerprint.v1') || replay._frame(f.host_id::text)
      || replay._frame((p_projection).projection) || replay._frame((p_projection).consumer_group)
      || replay._frame(f.transaction_id) || int4send(1) || replay._frame(f.event_id)
      || sha256(f.payload)),
    (select max(r.registry_version) from replay.registry r), true, 1, octet_length(f.payload), 0,
    f.number, 'ValueError', 'bench.work.keep_none', f.failed_at
  from bench.failing(p_count) f;

  insert into replay.failure_member (host_id, failure_id, ordinal, event_id, event_type,
    event_schema, aggregate_type, aggregate_id, aggregate_version, format, payload)
  select f.host_id, f.failure_id, 0, f.event_id, 'ConfirmationOfReceiptEvent', '1', 'PermitCase',
    f.case_id, 1, 'CLOUDEVENTS_JSON', f.payload
  from bench.failing(p_count) f;

  insert into replay.failure_scope (host_id, failure_id, projection_id, scope_type, scope_key,
    first_version, last_version, is_open)
  select f.host_id, f.failure_id, (p_projection).projection_id, 'AGGREGATE',
    replay._aggregate_key('PermitCase', f.case_id), 1, 1, true
  from bench.failing(p_count) f;

  insert into replay.audit (host_id, action, actor, projection_id, failure_id, transaction_id,
    recorded_at)
  select f.host_id, 'FAILURE_CAPTURED', session_user, (p_projection).projection_id, f.failure_id,
    f.transaction_id, f.failed_at
  from bench.failing(p_count) f;

  insert into replay.position (projection_id, host_id, lane, last_offset, failed_count, moved_at)
  select (p_projection).projection_id, f.host_id, 0, max(f.number), count(*),
    max(f.failed_at)
  from bench.failing(p_count) f
  group by f.host_id;
end;
comment on function bench.capture_failing is 'Store what complete_batch would have made of them.';

create function bench.make_failures(p_count int)
  returns void
  language sql
  volatile
  -- What foreign keys and triggers would find in order, row by row, takes longer than the rows.
  set session_replication_role = replica
begin atomic
  select bench.append_failing(p_count);
  select bench.capture_failing(p_count, p)
  from (
    select r.*
    from replay.projection r
    where r.status = 'RUNNING'
    order by r.projection_id
    limit 1
  ) p;
end;
comment on function bench.make_failures is
'Make so many OPEN failures of the first running projection: one case each, over ten hosts. Once a
database; for superusers.';
