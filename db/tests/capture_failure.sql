begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(39);

create function pg_temp.capture(
  p_transaction_id text,
  p_error jsonb default '{"error_code": "Other", "error_handler": "other.make"}'
) returns text language sql
  return replay.capture_failure('cases', 'default', fixture.host(), p_transaction_id, p_error);

select fixture.append('t1', '{a@1,b@1}'), fixture.append('t2', '{a@2}'), fixture.append('n1', '{}'),
  fixture.append('ok', '{c@1}'), fixture.append('#1', '{#g@1}')
\g /dev/null

-- Without a position: a processor of other make keeps its own
select is(pg_temp.capture('t1'), 'FAIL', 'what is next and failed is an OPEN failure');
select results_eq(
  'select transaction_id, status, error_code, error_handler, member_count, lane, source_offset
  from replay.failure',
  $$values ('t1', 'OPEN', 'Other', 'other.make', 2, 0, 1::bigint)$$, 'kept as by a live processor');
select is(
  (select array_agg(m.payload order by m.ordinal) from replay.failure_member m),
  (select array_agg(e.payload order by e.ordinal) from replay.event e
    where e.transaction_id = 't1'),
  'I4: whole, I2: byte for byte');
select is(
  array(select scope_key from replay.failure_scope where is_open order by 1),
    '{Case:a,Case:b}'::text[],
  'with the scopes it holds');
select is((select count(*) from replay.position), 0::bigint, 'no position is moved');
select is_empty('select * from replay.batch_item', 'and no batch is left in hand');
select is((select count(*) from replay.audit where action = 'FAILURE_CAPTURED'), 1::bigint,
  'audited');

select is(pg_temp.capture('t1', '{"error_code": "Else"}'), 'OBSERVED',
  'I3: captured again, it is observed');
select is(pg_temp.capture('t1'), 'OBSERVED', 'and again');
select results_eq(
  'select error_code, (select count(*) from replay.observation) from replay.failure',
  $$values ('Other', 1::bigint)$$, 'I3: one failure, as it was captured first');

select is(pg_temp.capture('t2'), 'DEFER', 'O1: what is not next is kept until it is');
select is(
  array(select transaction_id from replay.deferred), '{t2}'::text[], 'and is no second failure');
select is(pg_temp.capture('t2'), 'OBSERVED', 'I3: captured again, it is observed too');
select is(pg_temp.capture('n1'), 'FAIL', 'an unordered one fails on its own');
select is(pg_temp.capture('#1'), 'FAIL', 'and so does the change of a graph');
select is(fixture.progress('Case:a') + fixture.progress('g'), 0::bigint, 'I5: progress stays');

-- A live processor that reads the same
select is(
  fixture.process(), '{t1 OBSERVED,t2 OBSERVED,n1 OBSERVED,ok APPLY,#1 OBSERVED}'::text[],
  'I1, I3: a live processor of the same projection finds them dealt with');
select is(fixture.position(), 5::bigint, 'and goes on');
select is(pg_temp.capture('ok'), 'STALE', 'what was applied has not failed');
select fixture.append('n2', '{}')
\g /dev/null
select is(fixture.process(), '{n2 APPLY}'::text[], 'an unordered one is applied');
select is(pg_temp.capture('n2'), 'DUPLICATE', 'nor has that failed');
select is((select count(*) from replay.failure), 3::bigint, 'no failure came of it');

-- Conflicts
select fixture.set_head('Case:c', 0)
\g /dev/null
select fixture.append('x1', '{c@1,c@2}')
\g /dev/null
select is(pg_temp.capture('x1'), 'CONFLICT', 'D1: what is partly applied under another id');
select results_eq(
  'select transaction_id, lane, source_offset from replay.evidence',
  $$values ('x1', 0, 7::bigint)$$, 'D1: is evidence');

-- Healing
select fixture.intended('{t1,n1}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select is(fixture.process(), '{t2 APPLY,x1 CONFLICT}'::text[],
  'what was deferred by it flows through any live processor');
select is(pg_temp.capture('t1'), 'OBSERVED', 'I3: a resolved failure does not open again');
select is(pg_temp.capture('n1'), 'DUPLICATE', 'and an unordered one is in the ledger now');

-- Under a barrier
select fixture.append('y1', '{y@1}')
\g /dev/null
select fixture.process('y1'), fixture.intended('{y1}'), fixture.claim_request(),
  fixture.begin_items(),
  fixture.load_items(), fixture.complete_items()
\g /dev/null
select fixture.append('y2', '{y@2}')
\g /dev/null
select is(pg_temp.capture('y2'), 'DEFER', 'I11: under a barrier it is kept until that is lowered');
select fixture.settle_items()
\g /dev/null
select is(fixture.process(), '{y2 APPLY,y2 OBSERVED}'::text[],
  'I11: and then it is applied, though the outbox brings it at that very moment');

-- Refusals
select throws_ok($$select pg_temp.capture('nobody')$$, 'RP104', null, 'it has to be in the outbox');
select throws_ok(
  $$select replay.capture_failure('cases', 'default', '22222222-2222-4222-8222-222222222222', 'y2',
    '{"error_code": "X"}')$$, 'RP104', null, 'I15: of that host');
select throws_ok(
  $$select replay.capture_failure('cases', 'other', fixture.host(), 'y2', '{"error_code": "X"}')$$,
  'RP101', null, 'the projection has to be registered');
select fixture.append('z1', '{z@1}'), fixture.append('z2', '{z@2}')
\g /dev/null
select throws_ok($$select pg_temp.capture('z1', '{}')$$, 'RP001', null,
  'a report has an error code');
select throws_ok($$select pg_temp.capture('z2', '{}')$$, 'RP001', null,
  'also when nothing of it would be kept');
select throws_ok($$select pg_temp.capture('z1', null)$$, 'RP001', null, 'null is no report');
select throws_ok($$select pg_temp.capture('z1', '[]')$$, 'RP001', null, 'nor is an array');
select throws_ok($$select pg_temp.capture('z1', '{"error_code": null}')$$, 'RP001', null,
  'nor one of nothing');
select is_empty(
  $$select transaction_id from replay.failure where transaction_id ~ '^z'
    union all select transaction_id from replay.deferred where transaction_id ~ '^z'$$,
  'what was refused left nothing');
select is(pg_temp.capture('z1', '{"ord": 7, "error_code": "X"}'), 'FAIL',
  'the report of one transaction needs no number');

select * from finish();
rollback;
