begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(24);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{a@2}'), fixture.append('t3', '{#g@1}'),
  fixture.append('n1', '{}')
\g /dev/null
select replay.register_projection('first'), replay.register_projection('late'),
  replay.register_projection('paused')
\g /dev/null

select results_eq(
  $$select status, start_at, started_at from replay.start_projection('first')$$,
  $$select 'RUNNING', 'BEGINNING', replay._now()$$, 'it runs, from the beginning unless told');
select is(
  (select p.last_offset from replay.position p
    where p.projection_id = replay._projection_id('first', 'default')), 0::bigint,
  'with a position where there is something to read, so that several may claim at once');
select is(
  array(select transaction_id from replay.claim_batch('first')), '{t1,t2,t3,n1}'::text[],
  'from the BEGINNING it reads everything ever appended');
select is(
  (replay.complete_batch(pg_current_xact_id())).applied_count, 4::bigint,
  'and each version is next in its turn');
select is(
  (select a.detail ->> 'at' from replay.audit a
    where a.action = 'PROJECTION_STARTED'
      and a.projection_id = replay._projection_id('first', 'default')), 'BEGINNING', 'audited');

select results_eq(
  $$select status, start_at from replay.start_projection('late', p_at => 'NOW')$$,
  $$values ('RUNNING', 'NOW')$$, 'or it runs from NOW');
select is_empty($$select replay.claim_batch('late')$$, 'what was appended by then is not read');
select results_eq(
  $$select scope_type, scope_key, version from replay.progress
    where projection_id = replay._projection_id('late', 'default') order by 1$$,
  $$values ('AGGREGATE', 'Case:a', 2::bigint), ('GRAPH_ROOT', 'g', 1)$$,
  'D5: progress of each scope is what was appended by then');
select is(
  (select p.last_offset from replay.position p
    where p.projection_id = replay._projection_id('late', 'default')), 4::bigint,
  'and so is the position');
select fixture.append('t4', '{a@3,#g@2}'), fixture.append('t5', '{b@1}'),
  fixture.append('u1', '{a@1}', p_host_id => '22222222-2222-4222-8222-222222222222')
\g /dev/null
select bag_eq(
  $$select transaction_id || ' ' || decision from replay.claim_batch('late')$$,
  $$values ('t4 APPLY'), ('t5 APPLY'), ('u1 APPLY')$$,
  'D5: a scope first met at version 3 is next, and so are new scopes and hosts');
select is(
  (replay.complete_batch(pg_current_xact_id())).deferred_count, 0::bigint, 'D5: without a gap');
select is_empty(
  $$select * from replay.gap where projection = 'late'$$, 'D5: no view tells one');
select is(
  cardinality(fixture.process()), 7, 'another projection has its own start');

select results_eq(
  $$select * from replay.start_projection('late', p_at => 'NOW')$$,
  $$select * from replay.projection where projection = 'late'$$,
  'the same start again is returned as it is');
select is(
  (select p.version from replay.progress p
    where p.projection_id = replay._projection_id('late', 'default') and p.scope_key = 'Case:a'
      and p.host_id = fixture.host()), 3::bigint, 'and moves nothing');
select is(
  (select count(*) from replay.audit a
    where a.action = 'PROJECTION_STARTED'
      and a.projection_id = replay._projection_id('late', 'default')), 1::bigint,
  'nor is it audited again');
select throws_ok($$select replay.start_projection('late')$$, 'RP213', null,
  'a start is fixed once');
select throws_ok($$select replay.start_projection('first', p_at => 'NOW')$$, 'RP213', null,
  'either way');
select is(
  fixture.refusal('fixture_operator', $$select replay.start_projection('late')$$),
  '{"code": "RP213", "status": "RUNNING", "start_at": "NOW"}', 'and the refusal says where it is');

select replay.start_projection('paused'),
  replay.pause_projection('paused', p_reason => 'look first')
\g /dev/null
select is((replay.start_projection('paused')).status, 'PAUSED', 'starting resumes nothing');

select throws_ok($$select replay.start_projection('first', p_at => 'YESTERDAY')$$, 'RP001', null,
  'there are two starts');
select throws_ok($$select replay.start_projection('first', p_at => null)$$, 'RP001', null,
  'null is none');
select throws_ok($$select replay.start_projection('nobody')$$, 'RP101', null,
  'only what is registered can start');
select throws_ok($$select replay.start_projection('first', 'other')$$, 'RP101', null,
  'by its consumer group too');

select * from finish();
rollback;
