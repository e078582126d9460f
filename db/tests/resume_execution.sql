begin;
\ir lib/fixtures.psql
select plan(6);

select is((select generation from replay.resume_execution('never paused')), 1,
  'without effect where nothing is paused');
select generation from replay.pause_execution('storm')
\g /dev/null
select throws_ok($$select replay.resume_execution('')$$, 'RP001', null, 'a reason is needed');
select results_eq(
  $$select (c ->> 'generation')::int, (c ->> 'enabled')::boolean, c ->> 'changed_by', c ->> 'reason'
    from fixture.call('fixture_operator', 'select * from replay.resume_execution(''over'')') c$$,
  $$values (3, true, 'fixture_operator', 'over')$$, 'resumed: by whom and why');
select results_eq($$select generation, enabled from replay.config order by generation$$,
  $$values (1, true), (2, false), (3, true)$$, 'the history is kept');
select throws_ok($$update replay.config set enabled = false$$, 'RP216', null, 'as it was');
select is((select actor from replay.audit_log where action = 'EXECUTION_RESUMED'),
  'fixture_operator', 'the audit has it');

select * from finish();
rollback;
