begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(31);

select fixture.append('t1', '{a@1,b@1}'), fixture.append('t2', '{c@1}'), fixture.append('n1', '{}'),
  fixture.append('t3', '{#g@1,#g@1}'), fixture.append('t4', '{d@1}')
\g /dev/null
select fixture.fail_in_turn('t1', 't2', 'n1', 't3', 't4'), fixture.intended('{t1,t2,n1,t3}')
\g /dev/null
select throws_ok('select fixture.begin_items()', 'RP301', null,
  'I9: only who claimed it may begin');
select is((fixture.claim_request()).barrier_count, 0, 'a claim raises no barrier');

select is(fixture.begin_items(p_limit => 2), 2, 'a chunk has up to p_limit items');
select results_eq(
  $$select scope_type, scope_key, item_no, fence, raised_at, projection_id
    from replay.barrier order by 1, 2$$,
  $$select s.*, 1::bigint, replay._now(), replay._projection_id('cases', 'default')
    from (values ('AGGREGATE', 'Case:a', 1), ('AGGREGATE', 'Case:b', 1),
      ('AGGREGATE', 'Case:c', 2)) s$$,
  'I11: a barrier stands on every scope of every item');
select is((fixture.made()).status, 'RUNNING', 'the request runs');
select is(
  (select count(*) from replay.audit where action = 'REQUEST_RUNNING'), 1::bigint, 'audited');
select is((select chunk_count from replay.run), 1, 'its first chunk');
select throws_ok('select fixture.begin_items()', 'RP207', null, 'one chunk at a time');
select is(fixture.load_items(), '{t1,t2}'::text[], 'items come in the order of the plan');
select fixture.complete_items(), fixture.settle_items()
\g /dev/null
select is(fixture.begin_items(), 2, 'the next chunk has what is left');
select results_eq(
  'select scope_type, scope_key, item_no from replay.barrier order by 1, 2',
  $$values ('GRAPH_ROOT', 'g', 4), ('TRANSACTION', 'n1', 3)$$,
  'of whatever kind its scopes are');
select is((select chunk_count from replay.run), 2, 'its second chunk');
select fixture.load_items(), fixture.complete_items()
\g /dev/null
select is((fixture.settle_items()).status, 'SUCCEEDED', 'and that is all');
select throws_ok('select fixture.begin_items()', 'RP301', null, 'what has ended begins no more');

-- At least one item, however the call
select fixture.intended('{t4}'), fixture.claim_request()
\g /dev/null
select is(fixture.begin_items(p_limit => 0), 1, 'a chunk has an item at least');
select fixture.load_items(), fixture.complete_items()
\g /dev/null
select fixture.settle_items()
\g /dev/null

-- Busy scopes: a second plan over the same failure
select fixture.append('e1', '{e@1,f@1}'), fixture.append('h1', '{h@1}')
\g /dev/null
select fixture.process('e1', 'h1'), fixture.intended('{e1}'), fixture.claim_request()
\g /dev/null
select fixture.pass('1 minute'), fixture.intended('{h1,e1}'), fixture.claim_request()
\g /dev/null
select is(fixture.begin_items(1), 1, 'two plans may hold one failure');
select throws_ok('select fixture.begin_items()', 'RP214', null,
  'I10: the barrier of one keeps out the other');
select is((fixture.made()).status, 'INSTALLING_BARRIER', 'which has not begun');
select is(
  (select array_agg(distinct request_id) from replay.barrier), array[(fixture.made(1)).request_id],
  'and raised no barrier in part');
select is((select chunk_count from replay.run where request_id = (fixture.made()).request_id), 0,
  'nor counted a chunk');
select fixture.load_items(1), fixture.complete_items(1), fixture.settle_items(1)
\g /dev/null
select is(fixture.begin_items(p_limit => 1), 1, 'its other items go on');

-- The fence and the lease
select throws_ok(
  $$select replay.begin_items(host_id, request_id, fence - 1) from fixture.made()$$, 'RP301', null,
  'I9: an older fence begins nothing');
select throws_ok(
  $$select replay.begin_items(host_id, request_id, fence + 1) from fixture.made()$$, 'RP301', null,
  'I9: nor does one that was never given');
select throws_ok(
  $$select replay.begin_items(host_id, request_id, null) from fixture.made()$$, 'RP301', null,
  'I9: nor null');
select throws_ok(
  $$select replay.begin_items(host_id, gen_random_uuid(), 1) from fixture.made()$$, 'RP103', null,
  'the request exists');
select throws_ok(
  $$select replay.begin_items('22222222-2222-4222-8222-222222222222', request_id, fence)
    from fixture.made()$$, 'RP103', null, 'I15: in that host');
select fixture.settle_items(), fixture.pass('1800 seconds')
\g /dev/null
select throws_ok('select fixture.begin_items()', 'RP301', null,
  'I9: who claimed half an hour ago begins nothing');

-- 500 scopes
select fixture.append('m' || n,
  array(select 'm' || n || '_' || s || '@1' from generate_series(1, 60) s))
from generate_series(1, 9) n
\g /dev/null
select fixture.process('m1', 'm2', 'm3', 'm4', 'm5', 'm6', 'm7', 'm8', 'm9')
\g /dev/null
select fixture.intended(array(select 'm' || n from generate_series(1, 9) n)),
  fixture.claim_request()
\g /dev/null
select is(fixture.begin_items(), 8, 'a chunk is cut at 500 scopes');
select is((select count(*) from replay.barrier), 480::bigint, 'whole items only');
select fixture.load_items(), fixture.complete_items(), fixture.settle_items()
\g /dev/null
select is(fixture.begin_items(), 1, 'the rest comes next');
select fixture.load_items(), fixture.complete_items()
\g /dev/null
select is((fixture.settle_items()).done_count, 9, 'and all of it is done');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
