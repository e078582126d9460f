begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(48);

create function pg_temp.claim(
  p_budget interval default '1800 seconds',
  p_plan_hash bytea default null
) returns replay.request_status language sql
  return (
    select replay.claim_request(r.host_id, r.request_id, coalesce(p_plan_hash, r.plan_hash),
      p_budget)
    from fixture.made() r);
create function pg_temp.is_locked() returns boolean language sql
  return exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.objsubid = 1
      and (l.classid::bigint << 32) + l.objid::bigint
        = (select replay._liveness_key(r.host_id, r.request_id) from fixture.made() r));
create function pg_temp.ends() returns text[] language sql
  return array(
    select r.fence || ' ' || r.status || coalesce(' ' || (r.ended_at = replay._now()), '')
    from replay.run r
    where r.request_id = (fixture.made()).request_id
    order by r.fence);

select fixture.append('t' || n, array['a' || n || '@1']) from generate_series(1, 6) n
\g /dev/null
select fixture.process('t1', 't2', 't3', 't4', 't5', 't6')
\g /dev/null

-- The intent comes first
select fixture.request('{t1,t2}')
\g /dev/null
select throws_ok('select pg_temp.claim()', 'RP207', null, 'what awaits approval cannot be claimed');
select fixture.decide('fixture_approver', 'approve', (fixture.made()).request_id)
\g /dev/null
select throws_ok('select pg_temp.claim()', 'RP207', null, 'nor what is approved and not intended');
select fixture.decide('fixture_operator', 'execute', (fixture.made()).request_id)
\g /dev/null
select throws_ok($$select pg_temp.claim(p_plan_hash => '\x00')$$, 'RP211', null,
  'I7: the caller names the plan that is executed');
select throws_ok(
  $$select replay.claim_request(host_id, request_id, null) from fixture.made()$$, 'RP211', null,
  'I7: and does name it');
select throws_ok(
  $$select replay.claim_request(host_id, gen_random_uuid(), plan_hash) from fixture.made()$$,
    'RP103',
  null, 'the request exists');
select throws_ok(
  $$select replay.claim_request('22222222-2222-4222-8222-222222222222', request_id, plan_hash)
    from fixture.made()$$, 'RP103', null, 'I15: in that host');
select throws_ok($$select pg_temp.claim('999 milliseconds')$$, 'RP001', null,
  'a budget is a second at least');
select throws_ok($$select pg_temp.claim('1 day 1 second')$$, 'RP001', null,
  'L11: and a day at most');
select throws_ok($$select pg_temp.claim(null)$$, 'RP001', null, 'and not null');
select is((fixture.made()).fence, 0::bigint, 'what was refused raised no fence');
select ok(not pg_temp.is_locked(), 'and left no lock');

-- A claim
select results_eq(
  $$select status, fence, lease_until, retryable from pg_temp.claim('10 minutes')$$,
  $$select 'INSTALLING_BARRIER', 1::bigint, replay._now() + '10 minutes'::interval, true$$,
  'a claim raises the fence and sets the lease');
select ok(pg_temp.is_locked(), 'its session holds the liveness lock');
select is(pg_temp.ends(), '{1 RUNNING}'::text[], 'a run began');
select results_eq(
  $$select claimed_by, started_at, chunk_count from replay.run$$,
  $$select current_setting('session_authorization'), replay._now(), 0$$, 'by whom and when');
select results_eq(
  $$select actor, detail ->> 'fence' from replay.audit where action = 'REQUEST_CLAIMED'$$,
  $$select current_setting('session_authorization'), '1'$$, 'audited');
select is((fixture.made()).holder_pooled, false, 'its end will be seen by the lock');

-- A dead holder: this very session cannot be it any more when it claims again
select is(fixture.begin_items(), 2, 'two items are begun');
select fixture.pass('1 minute')
\g /dev/null
select is((pg_temp.claim()).fence, 2::bigint, 'who holds the lock is not somebody else');
select is(pg_temp.ends(), '{"1 ABANDONED true","2 RUNNING"}'::text[],
  'the former run is ABANDONED');
select results_eq(
  'select item_no, fence, result, ended_at, error_code from replay.attempt order by 1',
  $$values (1, 1::bigint, 'ABANDONED', replay._now(), null::text),
    (2, 1, 'ABANDONED', replay._now(), null)$$, 'and so is what it had begun');
select is(
  array(select status from replay.request_item order by item_no), '{PENDING,PENDING}'::text[],
  'the items are still to do');
select is((select count(*) from replay.barrier), 2::bigint,
  'its barriers stand until they are settled');
select is(
  (select count(*) from replay.audit where action = 'RUN_ABANDONED'), 1::bigint, 'audited');
select lives_ok('select pg_temp.claim()',
  'L5: a successor that died before it settled has a successor');
select is(
  pg_temp.ends(), '{"1 ABANDONED true","2 ABANDONED true","3 RUNNING"}'::text[],
  'its run is ABANDONED too');
select is(
  (select count(*) from replay.attempt), 2::bigint, 'but it had begun no item');
select is((fixture.settle_items()).barrier_count, 0, 'settling lowers what the first one left');
select is((fixture.run_chunk()).status, 'SUCCEEDED', 'and all of it is done');
select ok(
  (select bool_and(result = 'SUCCEEDED') from replay.attempt where fence = 3), 'by the third');

-- After the end
select throws_ok('select pg_temp.claim()', 'RP207', null, 'what has ended cannot be claimed');
select is(
  (select count(*) from pg_locks l
    where l.locktype = 'advisory' and l.pid = pg_backend_pid() and l.objsubid = 1
      and (l.classid::bigint << 32) + l.objid::bigint
        = (select replay._liveness_key(r.host_id, r.request_id) from fixture.made() r)), 0::bigint,
  'three claims of one session leave no lock behind');

-- A pooled holder has only its lease
select fixture.intended('{t3}')
\g /dev/null
select results_eq(
  'select status, fence, retryable from fixture.claim_request(p_pooled => true)',
  $$values ('INSTALLING_BARRIER', 1::bigint, false)$$, 'a pooled holder is presumed alive');
select ok(not pg_temp.is_locked(), 'and takes no lock');
select throws_ok('select pg_temp.claim()', 'RP212', null, 'X16: so it cannot be claimed meanwhile');
select is(
  fixture.refusal('postgres', format('select replay.claim_request(%L, %L, %L)',
    r.host_id, r.request_id, r.plan_hash)) ->> 'lease_until',
  to_jsonb(r.lease_until) #>> '{}', 'and the refusal says until when')
from fixture.made() r;
select is((fixture.made()).fence, 1::bigint, 'nor is its fence raised');
select is(pg_temp.ends(), '{"1 RUNNING"}'::text[], 'or its run abandoned');
select fixture.pass('1799 seconds')
\g /dev/null
select throws_ok('select pg_temp.claim()', 'RP212', null, 'until the last second of the lease');
select fixture.pass('1 second')
\g /dev/null
select results_eq(
  'select fence, retryable from pg_temp.claim()', $$values (2::bigint, true)$$,
  'D11: when the lease has run out it can be');
select is(pg_temp.ends(), '{"1 ABANDONED true","2 RUNNING"}'::text[],
  'and the pooled run is ABANDONED');
select ok(pg_temp.is_locked(), 'by a holder with a lock');

-- Yielded, cancelled, expired
select is((fixture.yield_request()).retryable, true, 'what was yielded can be taken up');
select is((pg_temp.claim()).fence, 3::bigint, 'at once');
select fixture.run_chunk(), fixture.approved('{t4}')
\g /dev/null
select fixture.decide('fixture_operator', 'cancel', (fixture.made()).request_id)
\g /dev/null
select throws_ok('select pg_temp.claim()', 'RP207', null, 'a cancelled request cannot be claimed');
select fixture.intended('{t5}'), fixture.pass('25 hours')
\g /dev/null
select lives_ok('select pg_temp.claim()', 'a committed intent never expires');
select is((fixture.run_chunk()).status, 'SUCCEEDED', 'and goes its way');
select ok(not pg_temp.is_locked(), 'its end lets go of the liveness lock');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
