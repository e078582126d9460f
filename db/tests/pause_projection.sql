begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(14);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{a@2}'),
  replay.register_projection('new')
\g /dev/null

select is(fixture.claim(1), '{t1 APPLY}'::text[], 'a batch is in hand');
select is(
  (replay.pause_projection('cases', p_reason => '  look first ')).status, 'PAUSED',
  'a running projection is paused');
select is(fixture.complete(), '{t1 APPLY}'::text[], 'the batch in hand finishes');
select is(fixture.claim(), '{}'::text[], 'and no other is taken');
select is(fixture.position(), 1::bigint, 'the position stays');
select results_eq(
  $$select actor, reason from replay.audit where action = 'PROJECTION_PAUSED'$$,
  $$select current_setting('session_authorization'), 'look first'$$, 'audited with the reason');
select is(
  (replay.pause_projection('cases', p_reason => 'again')).status, 'PAUSED',
  'pausing twice is harmless');
select is(
  (select count(*) from replay.audit where action = 'PROJECTION_PAUSED'), 1::bigint,
  'and audited once');

select throws_ok($$select replay.pause_projection('cases')$$, 'RP001', null, 'a reason is given');
select throws_ok($$select replay.pause_projection('cases', p_reason => ' ')$$, 'RP001', null,
  'and not blank');
select throws_ok($$select replay.pause_projection('cases', p_reason => repeat('x', 4001))$$,
  'RP001', null, 'nor longer than 4,000 bytes');
select throws_ok($$select replay.pause_projection('nobody', p_reason => 'why')$$, 'RP101', null,
  'only what is registered can be paused');
select throws_ok($$select replay.pause_projection('new', p_reason => 'why')$$, 'RP213', null,
  'and has started');
update replay.projection set status = 'RETIRED' where projection = 'new';
select throws_ok($$select replay.pause_projection('new', p_reason => 'why')$$, 'RP213', null,
  'and is not retired');

select * from finish();
rollback;
