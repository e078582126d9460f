begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(56);

-- Everything a batch can come to, at once
select fixture.append('f0', '{f@1}'), fixture.append('d0', '{f@2}'), fixture.append('n0', '{}')
\g /dev/null
select fixture.process('f0'), fixture.rewind()
\g /dev/null
select fixture.append('t1', '{a@1}'), fixture.append('t2', '{a@2,b@1}'),
  fixture.append('t3', '{a@3}'),
  fixture.append('t4', '{b@2}'), fixture.append('n1', '{}'), fixture.append('g1', '{#g@1}')
\g /dev/null
select fixture.set_head('Case:f', 1)
\g /dev/null
select fixture.damage('update replay.failure_scope set is_open = false')
\g /dev/null
select fixture.append('c1', '{f@2}')
\g /dev/null
select fixture.damage('update replay.failure_scope set is_open = true')
\g /dev/null
select is(
  fixture.claim(),
  string_to_array('f0 OBSERVED,d0 OBSERVED,n0 DUPLICATE,t1 APPLY,t2 APPLY,t3 APPLY,t4 APPLY,'
    'n1 APPLY,g1 APPLY,c1 CONFLICT', ','),
  'a batch of all sorts');
select results_eq(
  $$select r.* from replay.complete_batch(pg_current_xact_id(), p_skipped => '{6,7}',
    p_failures => jsonb_build_array(fixture.error_report(5) || jsonb_build_object('error_text',
      repeat('x', 1001), 'error_line', 'app.py:1', 'error_constraint', 'c', 'error_table', 't',
      'error_column', 'o'))) r$$,
  $$values (3::bigint, 1::bigint, 0::bigint, 2::bigint, 1::bigint, 2::bigint, 0::bigint,
    1::bigint)$$,
  'the result counts what became of each');
select results_eq(
  $$select applied_count, duplicate_count, stale_count, observed_count, conflict_count,
    deferred_count, drained_count, failed_count, last_offset, moved_at, fault_code
    from replay.position$$,
  $$select 4::bigint, 1::bigint, 0::bigint, 2::bigint, 1::bigint, 3::bigint, 0::bigint, 2::bigint,
    10::bigint, replay._now(), null::text$$,
  'I1: the position adds it up and stands behind the last of the batch');
select is_empty('select * from replay.batch_item', 'nothing is left of the batch itself');

-- What was applied
select is(
  array[fixture.progress('Case:a'), fixture.progress('Case:b'), fixture.progress('g')],
  '{1,0,1}'::bigint[], 'I5: progress moves over what was applied, and no further');
select results_eq(
  'select transaction_id, applied_at from replay.ledger order by 1',
  $$values ('n0', replay._now()), ('n1', replay._now())$$,
  'only what is unordered is in the ledger');
select is(
  (select fingerprint from replay.ledger where transaction_id = 'n1'),
  replay._fingerprint(fixture.host(), 'cases', 'default', 'n1', '{n1/1}',
    array(select digest from replay.event where transaction_id = 'n1')), 'with its fingerprint');

-- What failed
select results_eq(
  $$select status, registry_version, replayable, member_count, byte_count, lane, source_offset,
    captured_at, resolution_code
    from replay.failure where transaction_id = 't2'$$,
  $$select 'OPEN', t.registry_version, true, 2, t.byte_count, 0, 5::bigint, replay._now(),
    null::text
    from replay.transaction t where t.transaction_id = 't2'$$,
  'C1: what failed is an OPEN failure, with where it came from');
select results_eq(
  $$select error_code, error_text, error_handler, error_line, error_constraint, error_table,
    error_column
    from replay.failure where transaction_id = 't2'$$,
  $$select 'BadCase', repeat('x', 1000), 'cases.opened', 'app.py:1', 'c', 't', 'o'$$,
  'and what is kept of the error, in bounds');
select results_eq(
  $$select ordinal, event_id, event_type, event_schema, payload, digest
    from replay.failure_member m join replay.failure f using (host_id, failure_id)
    where f.transaction_id = 't2' order by 1$$,
  $$select ordinal, event_id, event_type, event_schema, payload, sha256(payload)
    from replay.event where transaction_id = 't2' order by 1$$,
  'I4: its members are kept whole, I2: byte for byte');
select results_eq(
  $$select format, aggregate_type, aggregate_id, aggregate_version, graph_root, graph_revision
    from replay.failure_member m join replay.failure f using (host_id, failure_id)
    where f.transaction_id = 't2' order by ordinal$$,
  $$values ('CLOUDEVENTS_JSON', 'Case', 'a', 2::bigint, null::text, null::bigint),
    ('CLOUDEVENTS_JSON', 'Case', 'b', 1, null, null)$$, 'with what the envelope says');
select results_eq(
  $$select scope_type, scope_key, first_version, last_version, is_open
    from replay.failure_scope s join replay.failure f using (host_id, failure_id)
    where f.transaction_id = 't2' order by 2$$,
  $$values ('AGGREGATE', 'Case:a', 2::bigint, 2::bigint, true), ('AGGREGATE', 'Case:b', 1, 1,
    true)$$,
  'I5: and the scopes it holds');
select is(
  (select fingerprint from replay.failure where transaction_id = 't2'),
  replay._fingerprint(fixture.host(), 'cases', 'default', 't2', '{t2/1,t2/2}',
    array(select digest from replay.event where transaction_id = 't2' order by ordinal)),
  'and its fingerprint');
select results_eq(
  $$select failure_id, actor from replay.audit
    where action = 'FAILURE_CAPTURED' and transaction_id = 't2'$$,
  $$select failure_id, current_setting('session_authorization')
    from replay.failure where transaction_id = 't2'$$, 'audited');

-- What waits
select results_eq(
  $$select transaction_id, lane, source_offset, deferred_at from replay.deferred
    where transaction_id <> 'd0' order by 1$$,
  $$values ('t3', 0, 6::bigint, replay._now()), ('t4', 0, 7, replay._now())$$,
  'O1: what was skipped is deferred, with where it came from');
select results_eq(
  $$select transaction_id, scope_key, first_version, last_version from replay.deferred_scope
    where transaction_id <> 'd0' order by 1$$,
  $$values ('t3', 'Case:a', 3::bigint, 3::bigint), ('t4', 'Case:b', 2, 2)$$, 'and its scopes');

-- What was delivered again
select results_eq(
  $$select transaction_id, lane, source_offset, delivery_fingerprint, observed_at
    from replay.observation order by 1$$,
  $$select o.transaction_id, o.lane, o.source_offset, replay._delivery_fingerprint(
      replay._transaction_fingerprint(o.host_id, replay._projection_id('cases', 'default'),
        o.transaction_id), 'outbox', 0, o.source_offset), replay._now()
    from replay.outbox o where o.transaction_id in ('d0', 'f0') order by 1$$,
  'I3: a second delivery is an observation');
select results_eq(
  'select kind, transaction_id, other_transaction_id, lane, source_offset, digests, recorded_at
  from replay.evidence',
  $$select 'CONFLICT', 'c1', 'd0', 0, 10::bigint, array(select digest from replay.event
      where transaction_id = 'c1'), replay._now()$$,
  'what can never be a candidate is evidence, with coordinates and digests');
select fixture.rewind()
\g /dev/null
select is((fixture.process())[1:2], '{f0 OBSERVED,d0 OBSERVED}'::text[], 'and a third');
select is(
  (select count(*) from replay.observation where transaction_id in ('f0', 'd0')), 2::bigint,
  'from the same coordinates it is the same observation');

-- C10, I5: the scope of a failure stays as it is, whatever the batch
select fixture.append('p' || n, array['p' || n || '@1']) from generate_series(1, 10) n
\g /dev/null
select is(
  (select count(*) from unnest(fixture.process('p1', 'p2', 'p4', 'p6', 'p8', 'p9')) e
    where e ~ 'FAIL'), 6::bigint, 'C10: six of ten fail');
select results_eq(
  $$select f.transaction_id, fixture.progress('Case:' || t.id) = 1
    from (select 'p' || n as id from generate_series(1, 10) n) t
    left join replay.failure f on f.transaction_id = t.id order by t.id$$,
  $$values ('p1', false), (null, true), ('p2', false), (null, true), ('p4', false), (null, true),
    ('p6', false), (null, true), ('p8', false), ('p9', false)$$,
  'C10: captures and progress agree');
select is(
  fixture.position(), (select last_offset from replay.outbox_lane where host_id = fixture.host()),
  'C10: and so does the position');

-- p_upto
select fixture.append('q' || n, array['q' || n || '@1']) from generate_series(1, 4) n
\g /dev/null
select is(cardinality(fixture.claim()), 4, 'four are claimed');
select is(
  (replay.complete_batch(pg_current_xact_id(), jsonb_build_array(fixture.error_report(2)),
    p_upto => 2)).applied_count, 1::bigint, 'two are dealt with');
select is(fixture.process(), '{q3 APPLY,q4 APPLY}'::text[],
  'I1: what is behind p_upto is read again');

-- Draining
select fixture.append('w1', '{w@1}'), fixture.append('w2', '{w@2}'), fixture.append('w3', '{w@3}'),
  fixture.append('w4', '{w@4}')
\g /dev/null
select fixture.process('w1'), fixture.intended('{w1}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select is(fixture.claim(), '{w2 APPLY,w3 APPLY,w4 APPLY}'::text[], 'three are drained');
select results_eq(
  $$select applied_count, deferred_count, drained_count, failed_count
    from replay.complete_batch(pg_current_xact_id(), jsonb_build_array(fixture.error_report(2)),
      p_upto => 2)$$,
  $$values (0::bigint, 0::bigint, 1::bigint, 1::bigint)$$, 'O3: one of them fails on its own');
select is(
  array(select transaction_id from replay.deferred where transaction_id ~ '^w'), '{w4}'::text[],
  'I5: what is behind it still waits, what was drained or captured does not');
select is(
  (select source_offset from replay.failure where transaction_id = 'w3'),
  (select source_offset from replay.outbox where transaction_id = 'w3'),
  'the failure tells where it came from');
select is(fixture.claim(), '{}'::text[], 'and nothing is next');
select is(
  fixture.position(), (select last_offset from replay.outbox_lane where host_id = fixture.host()),
  'draining moves no position');
select fixture.intended('{w3}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select is(fixture.process(), '{w4 APPLY}'::text[], 'O3: a second plan heals it');

-- Waking
select replay.set_lanes(fixture.host(), 2), fixture.in_lane(0) as zero, fixture.in_lane(1) as one
\gset
select fixture.append('h1', array[:'one' || '@1']),
  fixture.append('h2', array[:'zero' || '@1', :'one' || '@2'])
\g /dev/null
select array_agg(b) from replay.claim_batch('cases', p_lane => 0) b
\g /dev/null
select is(fixture.complete(), '{h2 DEFER}'::text[], 'one waits for another lane');
select is_empty('select * from replay.wake', 'nothing wakes it yet');
select array_agg(b) from replay.claim_batch('cases', p_lane => 1) b
\g /dev/null
select is(fixture.complete(), '{h1 APPLY}'::text[], 'the other lane brings it');
select results_eq(
  'select host_id, lane, transaction_id from replay.wake', $$values (fixture.host(), 0, 'h2')$$,
  'who moves a scope wakes what is next in it, at the position it was deferred from');
select fixture.process()
\g /dev/null

-- The driver cannot break the order
select fixture.append('k1', '{k@1}'), fixture.append('k2', '{k@2}'), fixture.append('k3', '{k@3}'),
  fixture.append('k4', '{#k@1,#k@1}'), fixture.append('k5', '{#k@2}')
\g /dev/null
create temp table batch as
select * from replay.claim_batch('cases', p_host_id => fixture.host());
create function pg_temp.ord(p_transaction_id text) returns int language sql
  return (select b.ord from batch b where b.transaction_id = p_transaction_id);
create function pg_temp.fail(p_transaction_id text, p_skipped text[] default '{}')
returns replay.batch_result language sql
  return replay.complete_batch(pg_current_xact_id(),
    jsonb_build_array(fixture.error_report(pg_temp.ord(p_transaction_id))),
    array(select pg_temp.ord(s) from unnest(p_skipped) s));
select throws_ok($$select pg_temp.fail('k1')$$, 'RP501', null,
  'I5: nothing is applied past a failure of its batch');
select throws_ok($$select pg_temp.fail('k1', '{k2}')$$, 'RP501', null,
  'I5: nor past a skipped one');
select throws_ok($$select pg_temp.fail('k2')$$, 'RP501', null,
  'I5: nor is a failure jumped over by what comes before and behind it');
select throws_ok($$select pg_temp.fail('k4')$$, 'RP501', null, 'I5: nor past a revision');
select throws_ok($$select pg_temp.fail('nobody')$$, 'RP001', null, 'a report names an item');
select throws_ok($$select pg_temp.fail('k3', '{k3}')$$, 'RP001', null,
  'which was either skipped or failed');
select throws_ok($$select pg_temp.fail('k3', '{k2,k2}')$$, 'RP001', null, 'and is named once');
select throws_ok(
  $$select replay.complete_batch(pg_current_xact_id(), p_failures => '[{"ord": 1}]')$$, 'RP001',
    null,
  'a report has an error code');
select throws_ok(
  $$select replay.complete_batch(pg_current_xact_id(), p_failures => '{"ord": 1}')$$, 'RP001', null,
  'reports are an array');
select throws_ok(
  $$select replay.complete_batch((pg_current_xact_id()::text::bigint + 1)::text::xid8)$$, 'RP302',
    null,
  'I9: the batch of another database transaction is refused');
select throws_ok($$select replay.complete_batch(null)$$, 'RP302', null, 'and so is no name at all');
insert into replay.progress (host_id, projection_id, scope_type, scope_key, version)
values (fixture.host(), replay._projection_id('cases', 'default'), 'AGGREGATE', 'Case:k', 1);
select throws_ok($$select pg_temp.fail('k3')$$, 'RP501', null,
  'I10: progress that was moved meanwhile is not moved again');
select is(
  array[fixture.progress('Case:k'), fixture.progress('k')], '{1,0}'::bigint[],
  'C4: none of this left anything');
delete from replay.progress where scope_key = 'Case:k';
select is((pg_temp.fail('k3')).applied_count, 4::bigint, 'the batch is still in hand');
select is(
  array[fixture.progress('Case:k'), fixture.progress('k')], '{2,2}'::bigint[],
  'I5: and progress ends where the failure is');
select throws_ok($$select replay.complete_batch(pg_current_xact_id())$$, 'RP302', null,
  'a batch is completed once');

-- A decision is no candidate for a report
select fixture.rewind()
\g /dev/null
select is((fixture.claim(1))[1], 'f0 OBSERVED', 'what is observed is in a batch');
select throws_ok(
  $$select replay.complete_batch(pg_current_xact_id(),
    jsonb_build_array(fixture.error_report(1)))$$,
  'RP001', null, 'and cannot have failed');
select throws_ok($$select fixture.append('late', '{late@1}')$$, 'RP013', null,
  'a handler appends nothing');

select * from finish();
rollback;
