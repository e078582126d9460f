begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(16);

select fixture.append('n1', '{}'), fixture.append('n2', '{}'), fixture.append('a1', '{a@1}')
\g /dev/null
select fixture.process('n1', 'n2', 'a1')
\g /dev/null
select f.failure_id as ordered from replay.failure f where f.transaction_id = 'a1'
\gset

create function pg_temp.waiver(p_action_id text default null, p_impact text default null)
returns text language sql as $$
  select format('select w.* from replay.waive_failures(%L, %L, ''known bad'', %L, %L) w',
    fixture.host(), (select array_agg(f.failure_id) from replay.failure f
      where f.transaction_id ~ '^n'), p_action_id, p_impact);
$$;
create function pg_temp.refused(p_user text, p_action_id text, p_impact text) returns text
language sql as $$
  select fixture.refusal(p_user, pg_temp.waiver(p_action_id, p_impact)) ->> 'code';
$$;

select throws_ok(format('select replay.waive_failures(%L, array[%L::uuid], ''r'')',
  fixture.host(), :'ordered'), 'RP225', null, 'what holds an aggregate is never waived');
select throws_ok(format('select replay.waive_failures(%L, array[gen_random_uuid()], ''r'')',
  fixture.host()), 'RP102', null, 'nor what is not there');
select throws_ok(format('select replay.waive_failures(%L, ''{}'', ''r'')',
  fixture.host()), 'RP001', null, 'nor nothing');
select fixture.call('fixture_operator', pg_temp.waiver()) as asked
\gset
select is(:'asked'::jsonb ->> 'status', 'AWAITING_APPROVAL', 'the first call asks');
select is(:'asked'::jsonb -> 'impact' -> 'member_count', '2', 'shows what would be given up');
select is((select count(*) from replay.failure f where f.status = 'WAIVED'), 0::bigint,
  'and does nothing');
select :'asked'::jsonb ->> 'action_id' as action, :'asked'::jsonb ->> 'impact' as impact
\gset
select is(pg_temp.refused('fixture_operator', :'action', :'impact'), 'RP210',
  'I8: who asked does not decide');
select is(pg_temp.refused('fixture_approver', :'action', '{}'), 'RP224',
  'the second person names what was shown');
select is(pg_temp.refused('fixture_approver', gen_random_uuid()::text, :'impact'), 'RP106',
  'of an action that was asked for');
select fixture.pass('25 hours')
\g /dev/null
select is(pg_temp.refused('fixture_approver', :'action', :'impact'), 'RP223', 'within its life');
select fixture.call('fixture_operator', pg_temp.waiver()) ->> 'action_id' as action
\gset
create temp table before as select * from replay.progress;
select is(fixture.call('fixture_approver', pg_temp.waiver(:'action', :'impact')) ->> 'status',
  'DONE', 'another person does it');
select results_eq($$select transaction_id, status, resolution_code from replay.failure
    where transaction_id ~ '^n' order by 1$$,
  $$values ('n1', 'WAIVED', 'WAIVED'), ('n2', 'WAIVED', 'WAIVED')$$, 'they are given up');
select set_eq('select * from replay.progress', 'select * from before',
  'I19: a waiver moves no progress');
select results_eq($$select distinct status from replay.transaction_status
    where transaction_id ~ '^n' and projection = 'cases'$$, $$values ('WAIVED')$$,
  'a submitter sees it');
select is(pg_temp.refused('fixture_approver', :'action', :'impact'), 'RP207',
  'what is waived is not waived again');
select results_eq(
  $$select action, actor from replay.audit where action ~ 'WAIVE' order by audit_id$$,
  $$values ('WAIVE_FAILURES_ASKED', 'fixture_operator'),
    ('WAIVE_FAILURES_ASKED', 'fixture_operator'),
    ('FAILURE_WAIVED', 'fixture_approver'), ('FAILURE_WAIVED', 'fixture_approver')$$,
  'and who did what is told');

select * from finish();
rollback;
