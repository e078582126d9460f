begin;
\ir lib/fixtures.psql
select plan(13);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}')
\g /dev/null
select fixture.project('{t1,t2}')
\g /dev/null
select fixture.approved('{t1}') as approved, fixture.approved('{t1,t2}') as running
\gset
select fixture.decide('fixture_operator', 'execute', :'running')
\g /dev/null
select fence from replay.claim_request(fixture.host(), :'running', fixture.plan_hash(:'running'))
\gset

select throws_ok($$select replay.pause_execution(' ')$$, 'RP001', null, 'a reason is needed');
select throws_ok($$select replay.pause_execution(null)$$, 'RP001', null, 'null is none');
select results_eq(
  $$select (c ->> 'generation')::int, (c ->> 'enabled')::boolean, c ->> 'changed_by', c ->> 'reason'
    from fixture.call('fixture_operator', 'select * from replay.pause_execution(''storm'')') c$$,
  $$values (2, false, 'fixture_operator', 'storm')$$, 'paused: by whom and why');
select is((select generation from replay.pause_execution('again')), 2, 'once');
select results_eq($$select action, actor, reason from replay.audit_log
    where action like 'EXECUTION\_P%'$$,
  $$values ('EXECUTION_PAUSED', 'fixture_operator', 'storm')$$, 'the audit has it');

select is(fixture.refusal('fixture_operator', format(
    'select * from replay.execute_request(fixture.host(), %L, %L, ''x'')', :'approved',
    fixture.plan_hash(:'approved'))) ->> 'code', 'RP222', 'I14: no new intent');
select throws_ok(format($$select replay.claim_request(fixture.host(), %L, %L)$$, :'running',
  fixture.plan_hash(:'running')), 'RP222', null, 'I14: no claim');
select throws_ok(format($$select replay.begin_items(fixture.host(), %L, %s)$$, :'running', :fence),
  'RP222', null, 'I14: no chunk');
select throws_ok(format($$select replay.load_items(fixture.host(), %L, %s)$$, :'running', :fence),
  'RP222', null, 'I14: nor one that was begun and not run');
select is((select status from replay.settle_items(fixture.host(), :'running', :fence)),
  'INSTALLING_BARRIER', 'what is in hand settles');
select is((select status from replay.yield_request(fixture.host(), :'running', :fence)),
  'INSTALLING_BARRIER', 'and can be resumed');
select fixture.append('t3', '{c@1}')
\g /dev/null
select lives_ok($$select fixture.project('{}')$$, 'I14: live work goes on');

select fixture.pass('25 hours')
\g /dev/null
select results_eq(
  format('select request_id, status from replay.request_status where request_id in (%L, %L)
    order by status', :'approved', :'running'),
  format('values (%L::uuid, ''EXPIRED''), (%L, ''INSTALLING_BARRIER'')', :'approved', :'running'),
  'a plan expires through a pause; an intent never does');

select * from finish();
rollback;
