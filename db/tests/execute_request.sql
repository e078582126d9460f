begin;
\ir lib/fixtures.psql
select plan(20);

select fixture.append('t' || n, array['a' || n || '@1']) from generate_series(1, 5) n
\g /dev/null
select fixture.project('{t1,t2,t3,t4,t5}')
\g /dev/null
select fixture.request('{t1}') as awaiting, fixture.request('{t1}', 'VALIDATE_ONLY') as validated,
  fixture.approved('{t1,t2}') as request
\gset

select throws_ok(format($$select fixture.decide('fixture_operator', 'execute', %L)$$, :'awaiting'),
  'RP207', null, 'what nobody approved is not executed');
select throws_ok(format($$select fixture.decide('fixture_operator', 'execute', %L)$$, :'validated'),
  'RP207', null, 'nor what is only validated');
select is(
  fixture.refusal('fixture_operator', format(
    $$select replay.execute_request(fixture.host(), %L, '\x00', 'go')$$, :'request')) ->> 'code',
  'RP211', 'I7: execution names the plan it means');
select throws_ok(
  format($$select replay.execute_request(fixture.host(), %L, '\x00', null)$$, :'request'),
  'RP001', null, 'a reason is needed');
select throws_ok(format($$select fixture.decide('fixture_operator', 'execute', %L)$$,
  gen_random_uuid()), 'RP103', null, 'the request is there');
select results_eq(
  format($$select e ->> 'status', e ->> 'executed_by', e ->> 'execution_reason', e ->> 'retryable'
    from fixture.decide('fixture_operator', 'execute', %L) e$$, :'request'),
  $$values ('INSTALLING_BARRIER', 'fixture_operator', 'because', 'true')$$,
  'the intent is recorded, and can be claimed');

select results_eq(
  format($$select e ->> 'status', e ->> 'executed_by' from fixture.call('fixture_approver', format(
    'select * from replay.execute_request(%%L, %%L, %%L, %%L)', fixture.host(), %L,
    fixture.plan_hash(%L), 'again')) e$$, :'request', :'request'),
  $$values ('INSTALLING_BARRIER', 'fixture_operator')$$,
  'a retry keeps the first person and reason');
select results_eq(
  format($$select action, actor, reason from replay.audit_log
    where request_id = %L and action like 'EXECUTION%%' order by audit_id$$, :'request'),
  $$values ('EXECUTION_REQUESTED', 'fixture_operator', 'because'),
    ('EXECUTION_RETRIED', 'fixture_approver', 'again')$$, 'and has its own audit row');
select fixture.pass('48 hours')
\g /dev/null
select lives_ok(format($$select fixture.decide('fixture_operator', 'execute', %L)$$, :'request'),
  'a committed intent never expires');

select is((fixture.run_chunk(:'request', p_limit => 1)).status, 'RUNNING', 'a chunk is run');
select lives_ok(format($$select fixture.decide('fixture_operator', 'execute', %L)$$, :'request'),
  'what is RUNNING and held by nobody else can be taken up again');
-- A pooled holder has only its lease.
update replay.request set holder_pooled = true where request_id = :'request';
select is(
  (fixture.refusal('fixture_operator', format($$select fixture.decide('fixture_operator',
    'execute', %L)$$, :'request')) - 'request_id'),
  jsonb_build_object('code', 'RP212', 'lease_until', replay._now() + interval '1800 seconds'),
  'X16: what somebody else executes is not, and until when is told');
select is((replay.get_request(fixture.host(), :'request')).retryable, false,
  'get_request tells the same');
select fixture.pass('30 minutes')
\g /dev/null
select is((replay.get_request(fixture.host(), :'request')).retryable, true, 'until its lease ends');
select is((fixture.run_chunk(:'request')).status, 'SUCCEEDED', 'the rest is run');
select throws_ok(format($$select fixture.decide('fixture_operator', 'execute', %L)$$, :'request'),
  'RP207', null, 'I10: what has ended is not executed again');

select fixture.approved('{t3}') as stale, fixture.approved('{t4}') as other,
  fixture.approved('{t5}') as late
\gset
insert into replay.progress select host_id, projection_id, scope_type, scope_key, 1
from replay.failure_scope where scope_key = 'Case:a3';
select is(
  fixture.refusal('fixture_operator', format($$select fixture.decide('fixture_operator',
    'execute', %L)$$, :'stale')) - '{request_id,failure_id}'::text[],
  '{"code": "RP208", "item_no": 1, "fact": "progress of AGGREGATE Case:a3"}',
  'X10: progress moved after approval: stale, and told what');
select fixture.damage($$update replay.failure set status = 'RESOLVED', resolution_code = 'X',
  resolved_at = replay._now() where transaction_id = 't4'$$)
\g /dev/null
select is(
  fixture.refusal('fixture_operator', format($$select fixture.decide('fixture_operator',
    'execute', %L)$$, :'other')) ->> 'fact', 'failure is RESOLVED',
  'resolved meanwhile: stale, not repeated');
select results_eq(
  format($$select status from replay.request where request_id in (%L, %L)$$, :'stale', :'other'),
  $$values ('APPROVED'), ('APPROVED')$$, 'with no effect');
select fixture.pass('24 hours')
\g /dev/null
select throws_ok(format($$select fixture.decide('fixture_operator', 'execute', %L)$$, :'late'),
  'RP209', null, 'an expired plan is not executed');

select * from finish();
rollback;
