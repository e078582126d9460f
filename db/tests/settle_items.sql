begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(36);

create function pg_temp.woken() returns text[] language sql
  return array(select w.transaction_id from replay.wake w order by w.transaction_id);
create function pg_temp.run() returns text language sql
  return (
    select r.status || coalesce(' ' || (r.ended_at = replay._now()), '')
    from replay.run r
    where (r.request_id, r.fence)
      = ((fixture.made()).request_id, (fixture.made()).fence));

select fixture.append('t1', '{a@1,b@1}'), fixture.append('c1', '{c@1}'),
  fixture.append('a2', '{a@2}'),
  fixture.append('a3', '{a@3}'), fixture.append('b2', '{b@2,c@2}')
\g /dev/null
select fixture.fail_in_turn('t1', 'c1'), fixture.process()
\g /dev/null
select fixture.intended('{t1,c1}')
\g /dev/null
select throws_ok('select fixture.settle_items()', 'RP301', null, 'I9: only who claimed it settles');
select fixture.claim_request()
\g /dev/null

-- Without a chunk
select results_eq(
  'select status, barrier_count, failure_code, finished_at from fixture.settle_items()',
  $$values ('INSTALLING_BARRIER', 0, null::text, null::timestamptz)$$,
  'without a chunk there is nothing to settle');
select is(pg_temp.run(), 'RUNNING', 'and the run goes on');

-- After a chunk
select fixture.begin_items(p_limit => 1), fixture.load_items(), fixture.complete_items()
\g /dev/null
select is(pg_temp.woken(), '{}'::text[], 'nothing is woken under a barrier');
select results_eq(
  'select status, barrier_count, done_count, finished_at, lease_until > replay._now()
  from fixture.settle_items()',
  $$values ('RUNNING', 0, 1, null::timestamptz, true)$$, 'a chunk is settled and one item is left');
select is(pg_temp.woken(), '{a2,b2}'::text[],
  'D4: what carries the next version of a scope is woken, and nothing behind it');
select results_eq(
  'select lane, host_id from replay.wake where transaction_id = $$a2$$',
  'values (0, fixture.host())', 'for the position it was deferred from');
select is(fixture.process(), '{a2 APPLY,b2 DEFER,a3 APPLY}'::text[],
  'I5: it flows in version order; what waits elsewhere waits on');
select lives_ok('select fixture.settle_items()', 'settling twice is harmless');
select is(pg_temp.woken(), '{}'::text[], 'and wakes nothing more');

-- The last chunk
select is((fixture.made()).lease_until is null, false, 'the lease runs');
select results_eq(
  'select status, done_count, finished_at, lease_until, retryable, failure_code
  from fixture.run_chunk()',
  $$select 'SUCCEEDED', 2, replay._now(), null::timestamptz, false, null::text$$,
  'I13: it has SUCCEEDED when every item is done');
select is(pg_temp.run(), 'SUCCEEDED true', 'and so has the run');
select is(
  (select detail from replay.audit where action = 'RUN_SUCCEEDED'),
    '{"fence": 1, "failure_code": null}',
  'audited');
select is(fixture.process(), '{b2 APPLY}'::text[], 'D3: the last thing waited for wakes it');
select throws_ok('select fixture.settle_items()', 'RP301', null,
  'what has ended is settled no more');

-- An item failed
select fixture.append('f1', '{f@1}'), fixture.append('h1', '{h@1}'), fixture.append('f2', '{f@2}'),
  fixture.append('h2', '{h@2}')
\g /dev/null
select fixture.fail_in_turn('f1', 'h1'), fixture.process()
\g /dev/null
select fixture.intended('{f1,h1}'), fixture.claim_request(), fixture.begin_items(),
  fixture.load_items(),
  fixture.complete_items(p_failures => jsonb_build_array(fixture.error_report(2)), p_upto => 2)
\g /dev/null
select results_eq(
  'select status, failure_code, done_count, barrier_count, finished_at, lease_until
  from fixture.settle_items()',
  $$values ('FAILED', 'PROJECTION_FAILED', 1, 0, replay._now(), null::timestamptz)$$,
  'X6: it FAILED when one has failed');
select is(pg_temp.run(), 'FAILED true', 'and so has the run');
select is(fixture.process(), '{f2 APPLY}'::text[],
  'I5: what waits behind the one done flows, behind the one failed it waits');

-- The plan is stale
select fixture.intended('{h1}'), fixture.claim_request()
\g /dev/null
select results_eq(
  $$select status, failure_code, finished_at
    from fixture.settle_items(p_failure_code => 'STALE_PLAN')$$,
  $$values ('FAILED', 'STALE_PLAN', replay._now())$$, 'X10: the caller can end it, saying why');
select is(
  (select status from replay.failure where transaction_id = 'h1'), 'OPEN', 'without effect');
select is(
  (select detail ->> 'failure_code' from replay.audit where action = 'RUN_FAILED'
    and request_id = (fixture.made()).request_id), 'STALE_PLAN', 'audited');
select is(fixture.process(), '{}'::text[], 'nothing is let go');

-- D4: deferred between the item's commit and its settling
select fixture.intended('{h1}'), fixture.claim_request(), fixture.begin_items(),
  fixture.load_items(),
  fixture.complete_items()
\g /dev/null
select fixture.append('h3', '{h@3}'), fixture.append('h4', '{h@4,i@1}'),
  fixture.append('i2', '{i@2}')
\g /dev/null
select is(fixture.process(), '{h3 DEFER,h4 DEFER,i2 DEFER}'::text[], 'live work waits meanwhile');
select fixture.settle_items()
\g /dev/null
select is(pg_temp.woken(), '{h2}'::text[], 'D4: settle wakes the one that is next');
select is(fixture.process(), '{h2 APPLY,h3 APPLY,h4 APPLY,i2 APPLY}'::text[],
  'I11: all is applied once, in version order');

-- What a dead holder left
select fixture.append('k1', '{k@1}'), fixture.append('k2', '{k@2}')
\g /dev/null
select fixture.process('k1'), fixture.intended('{k1}'), fixture.claim_request(),
  fixture.begin_items(),
  fixture.load_items(), fixture.complete_items()
\g /dev/null
select is((fixture.claim_request()).done_count, 1, 'a holder died after its commit');
select is((select count(*) from replay.attempt where result = 'ABANDONED'), 0::bigint,
  'what it did is done, not abandoned');
select throws_ok(
  $$select replay.settle_items(host_id, request_id, fence - 1) from fixture.made()$$, 'RP301', null,
  'I9: the dead one settles nothing');
select is((fixture.settle_items()).status, 'SUCCEEDED', 'L5: its successor settles for it');
select is(fixture.process(), '{k2 APPLY}'::text[], 'I11: and what waited flows');

select fixture.append('m1', '{m@1}')
\g /dev/null
select fixture.process('m1'), fixture.intended('{m1}'), fixture.claim_request(),
  fixture.begin_items()
\g /dev/null
select throws_ok(
  $$select replay.settle_items(host_id, gen_random_uuid(), fence) from fixture.made()$$, 'RP103',
    null,
  'the request exists');
select is((fixture.settle_items()).status, 'RUNNING',
  'a chunk that was begun and not run is settled too');
select is(
  array(select status from replay.request_item where request_id = (fixture.made()).request_id),
  '{PENDING}'::text[], 'and is still to do');
select fixture.pass('1800 seconds')
\g /dev/null
select throws_ok('select fixture.settle_items()', 'RP301', null,
  'I9: after the lease nothing is settled');
select fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select is((fixture.made()).status, 'SUCCEEDED', 'L5: by who claims it again it is');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
