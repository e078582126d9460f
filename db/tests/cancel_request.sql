begin;
\ir lib/fixtures.psql
select plan(12);

select fixture.append('t1', '{a@1}')
\g /dev/null
select fixture.project('{t1}')
\g /dev/null
select fixture.request('{t1}', 'VALIDATE_ONLY') as ready, fixture.request('{t1}') as awaiting,
  fixture.approved('{t1}') as approved, fixture.approved('{t1}') as executed,
  fixture.approved('{t1}') as due
\gset

select results_eq(
  format($$select c ->> 'status', c ->> 'cancelled_by', c ->> 'cancellation_reason',
    c ->> 'finished_at' is not null from fixture.decide('fixture_operator', 'cancel', %L) c$$,
    :'awaiting'),
  $$values ('CANCELLED', 'fixture_operator', 'because', true)$$,
  'what awaits approval can be withdrawn: by whom, why');
select is(fixture.decide('fixture_approver', 'cancel', :'approved') ->> 'status', 'CANCELLED',
  'what is approved can be, by an approver too');
select is(fixture.decide('fixture_operator', 'cancel', :'ready') ->> 'status', 'CANCELLED',
  'and what is READY');
select results_eq(
  $$select detail ->> 'from', detail ->> 'to', reason from replay.audit_log
    where action = 'REQUEST_CANCELLED' order by audit_id$$,
  $$values ('AWAITING_APPROVAL', 'CANCELLED', 'because'), ('APPROVED', 'CANCELLED', 'because'),
    ('READY', 'CANCELLED', 'because')$$, 'the audit tells from where');
select throws_ok(format($$select fixture.decide('fixture_operator', 'cancel', %L)$$, :'approved'),
  'RP207', null, 'once');
select fixture.decide('fixture_operator', 'execute', :'executed')
\g /dev/null
select throws_ok(format($$select fixture.decide('fixture_operator', 'cancel', %L)$$, :'executed'),
  'RP207', null, 'not once its execution was asked for');
select throws_ok(format($$select replay.cancel_request(fixture.host(), %L, '')$$, :'due'),
  'RP001', null, 'a reason is needed');
select throws_ok(format($$select replay.cancel_request(fixture.host(), %L, 'x')$$,
  gen_random_uuid()), 'RP103', null, 'the request is there');

select fixture.pass('24 hours')
\g /dev/null
select is(fixture.decide('fixture_operator', 'cancel', :'due') ->> 'status', 'EXPIRED',
  'whoever touches an expired plan expires it');
select is((select r.status from replay.request r where r.request_id = :'due'), 'EXPIRED',
  'for good');
select is((select a.detail ->> 'from' from replay.audit_log a where a.action = 'REQUEST_EXPIRED'),
  'APPROVED', 'and in the audit');
select throws_ok(format($$select fixture.decide('fixture_operator', 'cancel', %L)$$, :'due'),
  'RP209', null, 'it is past cancelling');

select * from finish();
rollback;
