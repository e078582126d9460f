begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(11);

select fixture.append('t1', '{a@1}'), replay.register_projection('new'),
  replay.pause_projection('cases', p_reason => 'look first')
\g /dev/null

select is(fixture.claim(), '{}'::text[], 'paused, it takes no batch');
select is(
  (replay.resume_projection('cases', p_reason => ' seen ')).status, 'RUNNING', 'it runs again');
select is(fixture.process(), '{t1 APPLY}'::text[], 'and goes on where it stood');
select results_eq(
  $$select actor, reason from replay.audit where action = 'PROJECTION_RUNNING'$$,
  $$select current_setting('session_authorization'), 'seen'$$, 'audited with the reason');
select is(
  (replay.resume_projection('cases', p_reason => 'again')).status, 'RUNNING',
  'resuming twice is harmless');
select is(
  (select count(*) from replay.audit where action = 'PROJECTION_RUNNING'), 1::bigint,
  'and audited once');

select throws_ok($$select replay.resume_projection('cases')$$, 'RP001', null, 'a reason is given');
select throws_ok($$select replay.resume_projection('cases', p_reason => '')$$, 'RP001', null,
  'and not empty');
select throws_ok($$select replay.resume_projection('nobody', p_reason => 'why')$$, 'RP101', null,
  'only what is registered can be resumed');
select throws_ok($$select replay.resume_projection('new', p_reason => 'why')$$, 'RP213', null,
  'resuming starts nothing');
update replay.projection set status = 'RETIRED' where projection = 'new';
select throws_ok($$select replay.resume_projection('new', p_reason => 'why')$$, 'RP213', null,
  'what is retired stays so');

select * from finish();
rollback;
