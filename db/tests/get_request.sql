begin;
\ir lib/fixtures.psql
select plan(14);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}')
\g /dev/null
select fixture.project('{t1,t2}')
\g /dev/null
select fixture.approved('{t1,t2}') as request, fixture.approved('{t2}') as due
\gset

create function pg_temp.request(p_request_id uuid) returns replay.request_status language sql
begin atomic
  select replay.get_request(fixture.host(), p_request_id);
end;

select results_eq(
  format($$select projection, consumer_group, status, retryable, item_count, done_count,
    barrier_count from replay.get_request(fixture.host(), %L)$$, :'request'),
  $$values ('cases', 'default', 'APPROVED', false, 2, 0, 0)$$, 'tells plan and status');
select fixture.decide('fixture_operator', 'execute', :'request')
\g /dev/null
select is((pg_temp.request(:'request')).retryable, true,
  'an intent that nobody holds can be claimed');
select fence from replay.claim_request(fixture.host(), :'request', fixture.plan_hash(:'request'))
\gset
select is((pg_temp.request(:'request')).lease_until, '2030-01-01 00:30Z'::timestamptz,
  'the end of the lease');
update replay.request set holder_pooled = true where request_id = :'request';
select is((pg_temp.request(:'request')).retryable, false, 'what is held cannot be claimed');
select replay.begin_items(fixture.host(), :'request', :fence, 1)
\g /dev/null
select results_eq(
  format($$select status, barrier_count from pg_temp.request(%L)$$, :'request'),
  $$values ('RUNNING', 1)$$, 'counts the barriers that stand');
select replay.settle_items(fixture.host(), :'request', :fence)
\g /dev/null
select fixture.pass('30 minutes')
\g /dev/null
select is((pg_temp.request(:'request')).retryable, true, 'until its lease ends');
select (fixture.run_chunk(:'request', p_limit => 1)).status
\g /dev/null
select is((pg_temp.request(:'request')).done_count, 1, 'counts what is done');
select fixture.pass('30 minutes')
\g /dev/null
select (fixture.run_chunk(:'request', '{t1,t2}')).status
\g /dev/null
select results_eq(
  format($$select status, failure_code, done_count, retryable, finished_at
    from pg_temp.request(%L)$$, :'request'),
  $$values ('FAILED', 'PROJECTION_FAILED', 1, false, '2030-01-01 01:00Z'::timestamptz)$$,
  'tells why it failed');

select fixture.pass('24 hours')
\g /dev/null
select results_eq(
  format($$select status from replay.request_status where request_id = %L$$, :'due'),
  $$values ('EXPIRED')$$, 'views tell that a plan is past its life');
select is((select status from replay.request where request_id = :'due'), 'APPROVED',
  'before anybody has written it down');
select is(fixture.call('fixture_operator', format('select * from replay.get_request(%L, %L)',
  fixture.host(), :'due')) ->> 'status', 'EXPIRED', 'whoever touches an expired plan expires it');
select results_eq(
  format($$select r.status, a.actor, a.detail ->> 'from' from replay.request r
    join replay.audit a using (host_id, request_id)
    where a.action = 'REQUEST_EXPIRED' and request_id = %L$$, :'due'),
  $$values ('EXPIRED', 'fixture_operator', 'APPROVED')$$, 'for good, and in the audit, once');

select throws_ok(format($$select replay.get_request(fixture.host(), %L)$$, gen_random_uuid()),
  'RP103', null, 'the request is there');
select throws_ok(format($$select replay.get_request('22222222-2222-4222-8222-222222222222', %L)$$,
  :'due'), 'RP103', null, 'I15: in this host');

select * from finish();
rollback;
