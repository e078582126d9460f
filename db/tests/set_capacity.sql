begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(14);

create function pg_temp.other() returns uuid language sql immutable
  return '22222222-2222-4222-8222-222222222222'::uuid;
select fixture.append('n1', '{}'), fixture.append('a1', '{a@1}'), fixture.append('a2', '{a@2}')
\g /dev/null
select fixture.process('n1', 'a1')
\g /dev/null
select throws_ok(format('select replay.set_capacity(%L, 2, 1)', fixture.host()), 'RP001', null,
  'the soft limit comes first');
select replay.set_capacity(fixture.host(), 1, 1000000)
\g /dev/null
select is((select c.state from replay.capacity c), 'SOFT_LIMIT', 'from the soft limit on it warns');
select fixture.append('n2', '{}'), fixture.append('n3', '{}', p_host_id => pg_temp.other())
\g /dev/null
select set_eq('select unnest(fixture.process(''n2''))', '{n2 FAIL,n3 APPLY}'::text[], 'and goes on');

select replay.set_capacity(fixture.host(), 1, 2)
\g /dev/null
select is((select c.state from replay.capacity c where c.host_id = fixture.host()), 'FULL',
  'at the hard limit it is full');
select fixture.append('n4', '{}'), fixture.append('n5', '{}', p_host_id => pg_temp.other())
\g /dev/null
select fixture.position() as position
\gset
select is(fixture.claim(), '{n5 APPLY}'::text[], 'I17: other hosts go on');
select fixture.complete()
\g /dev/null
select throws_ok('select * from replay.claim_batch(''cases'')', 'RP502', null,
  'I17: when only the full one has something to do, that is said');
select is(fixture.position(), :position::bigint, 'I1, I17: its position stands');
select is_empty($$select * from replay.failure where transaction_id = 'n4'$$,
  'I17: nothing is lost that was taken');
select throws_ok(format('select replay.capture_failure(''cases'', ''default'', %L, ''n4'',
  ''{"error_code": "X"}'')', fixture.host()), 'RP502', null,
  'I17: nor is it kept for processors of other make');

-- Replay and drain need no room.
select fixture.intended('{a1}'), fixture.claim_request()
\g /dev/null
select is((fixture.run_chunk()).status, 'SUCCEEDED', 'a replay goes on');
select is(fixture.claim(), '{a2 APPLY}'::text[], 'and so does what it woke');
select fixture.complete()
\g /dev/null
select fixture.pass('1 day'), replay.remove_payloads(fixture.host(), '0')
\g /dev/null
select throws_ok('select * from replay.claim_batch(''cases'')', 'RP502', null, 'still full');
select replay.set_capacity(fixture.host(), 1, 1000000)
\g /dev/null
select is(fixture.process(), '{n4 APPLY}'::text[], 'I17: with room it goes on by itself');
select is((select count(*) from replay.audit a where a.action = 'CAPACITY_SET'), 3::bigint,
  'who set limits is told');

select * from finish();
rollback;
