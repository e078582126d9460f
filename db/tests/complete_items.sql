begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(41);

create function pg_temp.items() returns text[] language sql
  return array(
    select i.item_no || ' ' || i.status
    from replay.request_item i
    where i.request_id = (fixture.made()).request_id
    order by i.item_no);

select fixture.append('t1', '{a@1,b@1}'), fixture.append('t2', '{#g@1,#g@2}'),
  fixture.append('n1', '{}'), fixture.append('t3', '{c@1}'), fixture.append('t4', '{d@1}'),
  fixture.append('w1', '{a@2}'), fixture.append('w2', '{d@2}')
\g /dev/null
select fixture.fail_in_turn('t1', 't2', 'n1', 't3', 't4'), fixture.process()
\g /dev/null
create temp table before as select * from replay.position;
select fixture.intended('{t1,t2,n1,t3,t4}'), fixture.claim_request(),
  fixture.begin_items(p_limit => 3)
\g /dev/null
select throws_ok('select fixture.complete_items()', 'RP302', null,
  'only what was loaded is completed');
select is(fixture.load_items(), '{t1,t2,n1}'::text[], 'a chunk of three');

-- Whose chunk it is
select throws_ok(
  $$select replay.complete_items(host_id, request_id, fence,
    (pg_current_xact_id()::text::bigint + 1)::text::xid8) from fixture.made()$$, 'RP302', null,
  'I9: not that of another database transaction');
select throws_ok(
  $$select replay.complete_items(host_id, request_id, fence, null) from fixture.made()$$, 'RP302',
  null, 'I9: nor that of none');
select throws_ok(
  $$select replay.complete_items(host_id, request_id, fence - 1, pg_current_xact_id())
    from fixture.made()$$, 'RP301', null, 'I9: an older fence writes nothing');
select throws_ok(
  $$select replay.complete_items(host_id, gen_random_uuid(), fence, pg_current_xact_id())
    from fixture.made()$$, 'RP103', null, 'the request exists');
select throws_ok(
  $$select fixture.complete_items(p_failures => jsonb_build_array(fixture.error_report(4)))$$,
  'RP001', null, 'a report is of an item in the chunk');
select throws_ok($$select fixture.complete_items(p_failures => '[{"ord": 1}]')$$, 'RP001', null,
  'and has an error code');
select set_config('replay.now', (replay._now() + '1800 seconds')::text, true)
\g /dev/null
select throws_ok('select fixture.complete_items()', 'RP301', null,
  'I9: nothing is written after the lease');
select set_config('replay.now', (replay._now() - '1800 seconds'::interval)::text, true)
\g /dev/null

-- Progress that moved under it
insert into replay.progress (host_id, projection_id, scope_type, scope_key, version)
values (fixture.host(), replay._projection_id('cases', 'default'), 'AGGREGATE', 'Case:b', 1);
select throws_ok('select fixture.complete_items()', 'RP501', null,
  'I10: progress is moved by compare-and-set');
delete from replay.progress where scope_key = 'Case:b';
select is(pg_temp.items(), '{"1 PENDING","2 PENDING","3 PENDING","4 PENDING","5 PENDING"}'::text[],
  'I9: none of this left anything');

-- It goes well
select lives_ok('select fixture.complete_items()', 'what the handlers did is written down');
select is(
  array[fixture.progress('Case:a'), fixture.progress('Case:b'), fixture.progress('g')],
  '{1,1,2}'::bigint[], 'I5: progress of every scope moves');
select results_eq(
  'select transaction_id, fingerprint from replay.ledger',
  $$select transaction_id, fingerprint from replay.failure where transaction_id = 'n1'$$,
  'the unordered one is in the ledger');
select results_eq(
  $$select transaction_id, status, resolution_code, resolved_at, resolved_by_request_id
    from replay.failure where status <> 'OPEN' order by 1$$,
  $$select t, 'RESOLVED', 'RESOLVED_BY_EXACT_REPLAY', replay._now(), (fixture.made()).request_id
    from unnest('{n1,t1,t2}'::text[]) t$$,
  'the failures are RESOLVED, by what and when');
select is(
  array(select scope_key from replay.failure_scope where is_open order by 1),
    '{Case:c,Case:d}'::text[],
  'and let go of their scopes');
select results_eq(
  'select item_no, fence, result, ended_at, error_code from replay.attempt order by 1',
  $$select n, 1::bigint, 'SUCCEEDED', replay._now(), null::text from generate_series(1, 3) n$$,
  'I13: each item has its attempt');
select is(
  pg_temp.items(), '{"1 SUCCEEDED","2 SUCCEEDED","3 SUCCEEDED","4 PENDING","5 PENDING"}'::text[],
  'and is done');
select is(
  (select count(*) from replay.audit where action = 'FAILURE_RESOLVED'
    and request_id = (fixture.made()).request_id), 3::bigint, 'audited');
select is_empty('select * from replay.batch_item', 'nothing is left in hand');
select is((select count(*) from replay.barrier), 4::bigint,
  'I11: the barriers stand until they are settled');
select is_empty('select * from replay.wake', 'and nothing is woken before');
select throws_ok('select fixture.complete_items()', 'RP302', null, 'a chunk is completed once');
select is((fixture.settle_items()).status, 'RUNNING', 'two are left');
select results_eq('select * from replay.position', 'select * from before',
  'I6, X1: replay moves no position');

-- X6: one fails
select fixture.begin_items(), fixture.load_items()
\g /dev/null
select throws_ok(
  $$select fixture.complete_items(p_failures => jsonb_build_array(fixture.error_report(4)),
    p_upto => 3)$$, 'RP001', null, 'what failed is not behind the last one dealt with');
select lives_ok(
  $$select fixture.complete_items(p_upto => 4, p_failures => jsonb_build_array(
    fixture.error_report(4) || jsonb_build_object('error_text', repeat('x', 1001), 'error_line',
    'l:1',
      'error_constraint', 'c', 'error_table', 't', 'error_column', 'o')))$$,
  'X6: an item fails');
select results_eq(
  $$select item_no, result, error_code, error_text, error_handler, error_line, error_constraint,
    error_table, error_column
    from replay.attempt where item_no > 3$$,
  $$values (4, 'FAILED', 'BadCase', repeat('x', 1000), 'cases.opened', 'l:1', 'c', 't', 'o')$$,
  'X6: it has its one attempt, those behind it none');
select is(
  (pg_temp.items())[4:5], '{"4 FAILED","5 PENDING"}'::text[], 'X6: and they are untouched');
select is((fixture.failure('t3')), (select failure_id from replay.failure
    where transaction_id = 't3' and status = 'OPEN' and error_code = 'BadCase'),
  'the failure stays OPEN, as it was captured');
select is(
  array[fixture.progress('Case:c'), fixture.progress('Case:d')], '{0,0}'::bigint[],
  'I5: and progress of its scope where it was');
select is((fixture.settle_items()).failure_code, 'PROJECTION_FAILED', 'the request ends');
select is(
  fixture.process(), '{w1 APPLY}'::text[],
  'what waits behind the ones done flows, the rest does not');

-- Some before it are done
select fixture.pass('1 minute'), fixture.intended('{t3,t4}'), fixture.claim_request(),
  fixture.begin_items(), fixture.load_items()
\g /dev/null
select lives_ok(
  $$select fixture.complete_items(p_failures => jsonb_build_array(fixture.error_report(2)),
    p_upto => 2)$$,
  'the second of two fails');
select is(pg_temp.items(), '{"1 SUCCEEDED","2 FAILED"}'::text[], 'the first is done');
select is(
  array(select transaction_id from replay.failure where status = 'OPEN'), '{t4}'::text[],
  'one stays OPEN');
select is(fixture.progress('Case:c'), 1::bigint, 'I5: progress follows the one');
select is((fixture.settle_items()).status, 'FAILED', 'the request FAILED all the same');

-- A dry run commits nothing
select fixture.pass('1 minute'), fixture.intended('{t4}', 'ROLLBACK_DRY_RUN'),
  fixture.claim_request(),
  fixture.begin_items(), fixture.load_items()
\g /dev/null
select throws_ok('select fixture.complete_items()', 'RP207', null, 'a dry run completes nothing');
select is(fixture.progress('Case:d'), 0::bigint, 'and moves nothing');
select is((select result from replay.attempt where request_id = (fixture.made()).request_id), null,
  'nor tried anything');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
