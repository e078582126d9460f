begin;
\ir lib/fixtures.psql
select plan(16);

select fixture.append('t' || n, array['a' || n || '@1']) from generate_series(1, 5) n
\g /dev/null
select fixture.project('{t1,t2,t3,t4,t5}')
\g /dev/null
select fixture.request('{t1}') as request, fixture.request('{t2}', 'VALIDATE_ONLY') as validated
\gset

select is(
  fixture.refusal('fixture_approver', format(
    $$select replay.approve_request(fixture.host(), %L, '\x00', 'looks right')$$, :'request'))
    ->> 'code', 'RP211', 'I7: approval names the plan it means');
select is(
  fixture.refusal('fixture_operator', format(
    $$select replay.approve_request(fixture.host(), %L, %L, 'mine')$$, :'request',
    fixture.plan_hash(:'request'))) ->> 'code', '42501', 'an approver has the role');
grant replay_approver to fixture_operator;
select throws_ok(format($$select fixture.decide('fixture_operator', 'approve', %L)$$, :'request'),
  'RP210', null, 'I8: who asked cannot approve');
select throws_ok(
  format($$select replay.approve_request(fixture.host(), %L, '\x00', ' ')$$, :'request'),
  'RP001', null, 'a reason is needed');
select throws_ok(format($$select fixture.decide('fixture_approver', 'approve', %L)$$,
  gen_random_uuid()), 'RP103', null, 'the request is there');
select throws_ok(format($$select fixture.decide('fixture_approver', 'approve', %L)$$, :'validated'),
  'RP207', null, 'VALIDATE_ONLY is never approved');

select fixture.pass('1 hour')
\g /dev/null
select results_eq(
  format($$select a ->> 'status', a ->> 'approved_by', a ->> 'approval_reason',
    (a ->> 'approved_at')::timestamptz from fixture.decide('fixture_approver', 'approve', %L) a$$,
    :'request'),
  $$values ('APPROVED', 'fixture_approver', 'because', '2030-01-01 01:00Z'::timestamptz)$$,
  'approved: by whom, why and when');
select throws_ok(format($$select fixture.decide('fixture_approver', 'approve', %L)$$, :'request'),
  'RP207', null, 'once');
select results_eq(
  format($$select actor, reason from replay.audit_log
    where action = 'REQUEST_APPROVED' and request_id = %L$$, :'request'),
  $$values ('fixture_approver', 'because')$$, 'the audit tells who and why');

select fixture.request('{t2}') as request
\gset
update replay.progress set version = 1 where scope_key = 'Case:a2';
insert into replay.progress select host_id, projection_id, scope_type, scope_key, 1
from replay.failure_scope where scope_key = 'Case:a2';
select is(
  fixture.refusal('fixture_approver', format(
    'select fixture.decide(%L, %L, %L)', 'fixture_approver', 'approve', :'request'))
    - '{request_id,failure_id}'::text[],
  '{"code": "RP208", "item_no": 1, "fact": "progress of AGGREGATE Case:a2"}',
  'I7: progress moved meanwhile: stale, and told what');
select fixture.request('{t3}') as request
\gset
select fixture.damage($$update replay.failure_member set payload = payload || ' '
  where failure_id = fixture.failure('t3')$$)
\g /dev/null
select is(
  fixture.refusal('fixture_approver', format(
    'select fixture.decide(%L, %L, %L)', 'fixture_approver', 'approve', :'request'))
    - '{request_id,failure_id}'::text[],
  '{"code": "RP208", "item_no": 1, "fact": "fingerprint"}', 'I2: bytes changed meanwhile: stale');
select fixture.request('{t4}') as request
\gset
select fixture.damage($$update replay.failure set byte_count = 1 where transaction_id = 't4'$$)
\g /dev/null
select throws_ok(format($$select fixture.decide('fixture_approver', 'approve', %L)$$, :'request'),
  'RP208', null, 'I7: any other fact of the plan changed: stale');
select is((select status from replay.request where request_id = :'request'), 'AWAITING_APPROVAL',
  'with no effect');

select fixture.request('{t5}') as request
\gset
select fixture.pass('23 hours 59 minutes'), fixture.request('{t5}') as later
\gset
select lives_ok(format($$select fixture.decide('fixture_approver', 'approve', %L)$$, :'request'),
  'a plan can be approved to its last minute');
select fixture.pass('24 hours')
\g /dev/null
select throws_ok(format($$select fixture.decide('fixture_approver', 'approve', %L)$$, :'later'),
  'RP209', null, 'and not when it has expired');
select fixture.call('fixture_operator', format('select replay.get_request(%L, %L)', fixture.host(),
  :'later'))
\g /dev/null
select throws_ok(format($$select fixture.decide('fixture_approver', 'approve', %L)$$, :'later'),
  'RP209', null, 'nor when that is written down');
select * from finish();
rollback;
