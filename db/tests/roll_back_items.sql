begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(24);

create function pg_temp.attempts() returns text[] language sql
  return array(
    select a.item_no || ' ' || a.result || coalesce(' ' || a.error_code, '')
    from replay.attempt a
    where a.request_id = (fixture.made()).request_id
    order by a.item_no);
-- As the driver does: what the handlers did is gone when the attempts are written.
create function pg_temp.run_dry(p_failures jsonb default '[]', p_upto int default null)
returns void language plpgsql as $$
begin
  begin
    perform fixture.load_items();
    raise exception 'back' using errcode = 'TT000';
  exception when sqlstate 'TT000' then
    null;
  end;
  perform fixture.roll_back_items(p_failures => p_failures, p_upto => p_upto);
end;
$$;

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}'), fixture.append('t3', '{c@1}'),
  fixture.append('w1', '{a@2}')
\g /dev/null
select fixture.fail_in_turn('t1', 't2', 't3'), fixture.process()
\g /dev/null
select fixture.intended('{t1,t2,t3}', 'ROLLBACK_DRY_RUN')
\g /dev/null
create temp table before as select * from replay.failure;
select throws_ok('select fixture.roll_back_items()', 'RP301', null,
  'I9: only who claimed it writes');
select fixture.claim_request(), fixture.begin_items(p_limit => 2)
\g /dev/null
select throws_ok(
  $$select fixture.roll_back_items(p_failures => '[{"ord": 1}]')$$, 'RP001', null,
  'a report has an error code');
select throws_ok(
  $$select fixture.roll_back_items(p_failures => jsonb_build_array(fixture.error_report(3)))$$,
    'RP001',
  null, 'and is of an item in the chunk');
select is(pg_temp.attempts(), '{}'::text[], 'what was refused left nothing');
select lives_ok('select pg_temp.run_dry()', 'a chunk of a dry run goes well');
select is(pg_temp.attempts(), '{"1 ROLLED_BACK","2 ROLLED_BACK"}'::text[],
  'each of its items was tried');
select is(
  array(select status from replay.request_item order by item_no),
  '{ROLLED_BACK,ROLLED_BACK,PENDING}'::text[], 'and is done as far as a dry run goes');
select is((select count(*) from replay.barrier), 2::bigint, 'I11: its barriers stood meanwhile');
select is((fixture.settle_items()).done_count, 2, 'the rest is to do');
select fixture.begin_items(), pg_temp.run_dry()
\g /dev/null
select results_eq(
  'select status, failure_code, barrier_count from fixture.settle_items()',
  $$values ('SUCCEEDED', null::text, 0)$$, 'and then it has SUCCEEDED');
select results_eq('select * from replay.failure', 'select * from before',
  'failures stay as they were: OPEN');
select is_empty('select * from replay.progress', 'I5: progress too');
select is_empty('select * from replay.ledger', 'and the ledger');
select is(fixture.process(), '{}'::text[], 'I11: nothing that waits is let go');
select throws_ok('select fixture.roll_back_items()', 'RP301', null,
  'what has ended writes no more');

-- One fails
select fixture.pass('1 minute'), fixture.intended('{t1,t2,t3}', 'ROLLBACK_DRY_RUN'),
  fixture.claim_request(), fixture.begin_items(), pg_temp.run_dry(
    jsonb_build_array(fixture.error_report(2) || '{"error_text": "said so"}'), 2)
\g /dev/null
select is(pg_temp.attempts(), '{"1 ROLLED_BACK","2 FAILED BadCase"}'::text[],
  'X6: what fails has its attempt, those behind it none');
select is(
  (select error_text from replay.attempt where result = 'FAILED'), 'said so', 'with what it said');
select results_eq(
  'select status, failure_code, done_count from fixture.settle_items()',
  $$values ('FAILED', 'PROJECTION_FAILED', 1)$$, 'the dry run tells that the plan would fail');

-- Whose chunk it is
select fixture.pass('1 minute'), fixture.intended('{t1}', 'ROLLBACK_DRY_RUN'),
  fixture.claim_request(),
  fixture.begin_items()
\g /dev/null
select throws_ok(
  $$select replay.roll_back_items(host_id, request_id, fence - 1) from fixture.made()$$, 'RP301',
    null,
  'I9: an older fence writes nothing');
select throws_ok(
  $$select replay.roll_back_items(host_id, gen_random_uuid(), fence) from fixture.made()$$, 'RP103',
  null, 'the request exists');
select fixture.claim_request(), fixture.roll_back_items()
\g /dev/null
select is(pg_temp.attempts(), '{"1 ABANDONED"}'::text[],
  'what a dead holder began is not one''s own to write');
select fixture.settle_items(), fixture.begin_items(), fixture.pass('1800 seconds')
\g /dev/null
select throws_ok('select fixture.roll_back_items()', 'RP301', null,
  'I9: nothing is written after the lease');
select fixture.claim_request(), fixture.settle_items(p_failure_code => 'STALE_PLAN')
\g /dev/null
select fixture.intended('{t1}'), fixture.claim_request(), fixture.begin_items()
\g /dev/null
select throws_ok('select fixture.roll_back_items()', 'RP207', null,
  'a plan to EXECUTE is no dry run');
select is(pg_temp.attempts(), '{}'::text[], 'and gets no such attempts');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
