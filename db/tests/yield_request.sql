begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(20);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}'), fixture.append('a2', '{a@2}')
\g /dev/null
select fixture.fail_in_turn('t1', 't2'), fixture.process()
\g /dev/null
select fixture.intended('{t1,t2}')
\g /dev/null
select throws_ok('select fixture.yield_request()', 'RP301', null, 'I9: only who claimed it yields');
select fixture.claim_request()
\g /dev/null
select results_eq(
  'select status, lease_until, retryable, finished_at, failure_code from fixture.yield_request()',
  $$values ('INSTALLING_BARRIER', null::timestamptz, true, null::timestamptz, null::text)$$,
  'before its first chunk it keeps its state, and its lease ends');
select results_eq(
  'select fence, status, ended_at from replay.run', $$values (1::bigint, 'YIELDED',
  replay._now())$$,
  'the run has YIELDED');
select is(
  (select detail ->> 'fence' from replay.audit where action = 'RUN_YIELDED'), '1', 'audited');
select throws_ok('select fixture.begin_items()', 'RP301', null, 'I9: who yielded begins no more');
select throws_ok('select fixture.yield_request()', 'RP301', null, 'nor yields again');

-- Between chunks
select fixture.claim_request(), fixture.run_chunk(p_limit => 1)
\g /dev/null
select results_eq(
  'select status, done_count, retryable from fixture.yield_request()', $$values ('RUNNING', 1,
  true)$$,
  'what is done stays done');

-- In a chunk that was begun
select fixture.claim_request(), fixture.begin_items()
\g /dev/null
select is((select count(*) from replay.barrier), 1::bigint, 'a barrier stands');
select is((fixture.yield_request()).barrier_count, 0, 'I11: and none through the pause');
select is_empty($$select * from replay.attempt where result <> 'SUCCEEDED'$$,
  'what was begun and not run is no attempt');

-- In a chunk that has committed
select is(fixture.process(), '{a2 APPLY}'::text[], 'live work goes on meanwhile');
select fixture.claim_request(), fixture.begin_items(), fixture.load_items(),
  fixture.complete_items()
\g /dev/null
select fixture.append('b2', '{b@2}')
\g /dev/null
select is(fixture.process(), '{b2 DEFER}'::text[], 'under the barrier live work waits');
select is((fixture.yield_request()).done_count, 2, 'yielding settles');
select is(fixture.process(), '{b2 APPLY}'::text[], 'D4: and wakes what is next');
select is((fixture.made()).status, 'RUNNING', 'it ends by being claimed');
select fixture.claim_request()
\g /dev/null
select is((fixture.settle_items()).status, 'SUCCEEDED', 'and settled');

select fixture.append('c1', '{c@1}')
\g /dev/null
select fixture.process('c1'), fixture.intended('{c1}'), fixture.claim_request()
\g /dev/null
select throws_ok(
  $$select replay.yield_request(host_id, request_id, fence - 1) from fixture.made()$$, 'RP301',
    null,
  'I9: an older fence yields nothing');
select throws_ok(
  $$select replay.yield_request(host_id, gen_random_uuid(), fence) from fixture.made()$$, 'RP103',
    null,
  'the request exists');
select fixture.pass('1800 seconds')
\g /dev/null
select throws_ok('select fixture.yield_request()', 'RP301', null,
  'I9: after the lease it is too late');
select is((fixture.made()).failure_code, null, 'and nothing came of it');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
