begin;
\ir lib/fixtures.psql
select plan(22);

select fixture.append('t1', '{a@1}')
\g /dev/null
select fixture.project('{t1}'), fixture.pass('1 minute')
\g /dev/null
select fixture.append('t2', '{b@1}'), fixture.append('t3', '{b@2}')
\g /dev/null
select fixture.project('{t2}')
\g /dev/null
select fixture.approved('{t1,t2}') as request
\gset
select throws_ok(format($$select replay.release_request(fixture.host(), %L, 'x')$$, :'request'),
  'RP207', null, 'only what is in execution');
select fixture.decide('fixture_operator', 'execute', :'request')
\g /dev/null
select fixture.run_chunk(:'request', p_limit => 1)
\g /dev/null
select fence from replay.claim_request(fixture.host(), :'request', fixture.plan_hash(:'request'))
\gset
select replay.begin_items(fixture.host(), :'request', :fence)
\g /dev/null

-- Ask, or decide, as somebody.
create function pg_temp.release(p_user text, p_more text default '') returns text
language sql as $$
  select format('select * from replay.release_request(fixture.host(), %L, ''nobody retries''%s)',
    (select request_id from replay.request), p_more) $$;
create function pg_temp.named(p_action jsonb) returns text language sql
  return format(', %L, %L', p_action ->> 'action_id', p_action ->> 'impact');

select fixture.call('fixture_operator', pg_temp.release('')) as asked
\gset
select is(:'asked'::jsonb ->> 'status', 'AWAITING_APPROVAL', 'the first call asks');
select is(:'asked'::jsonb -> 'impact',
  '{"fence": 2, "done_count": 1, "left_open_count": 1, "barrier_count": 1}'::jsonb,
  'and shows the impact');
select is(fixture.call('fixture_approver', pg_temp.release('')) ->> 'action_id',
  :'asked'::jsonb ->> 'action_id', 'asked twice, it is one action');
select is((select action_id::text from replay.open_action), :'asked'::jsonb ->> 'action_id',
  'a view shows what waits');
select is(fixture.refusal('fixture_operator', pg_temp.release('', pg_temp.named(:'asked')))
  ->> 'code', 'RP210', 'I8: who asked cannot decide');
select is(fixture.refusal('fixture_approver', pg_temp.release('', pg_temp.named(
    :'asked'::jsonb || '{"impact": {"fence": 1}}'))) ->> 'code', 'RP224',
  'the impact must be named as it was shown');
select is(fixture.refusal('fixture_approver', pg_temp.release('',
    format(', %L', :'asked'::jsonb ->> 'action_id'))) ->> 'code', 'RP224', 'and be named');
select is(fixture.refusal('fixture_approver', pg_temp.release('', pg_temp.named(
    :'asked'::jsonb || jsonb_build_object('action_id', gen_random_uuid())))) ->> 'code', 'RP106',
  'somebody has to have asked');
select is((select status from replay.request), 'RUNNING', 'a refusal changes nothing');

select is(fixture.call('fixture_approver', pg_temp.release('', pg_temp.named(:'asked')))
  ->> 'decided_by', 'fixture_approver', 'I8: the second person does it');
select results_eq($$select status, failure_code, retryable, barrier_count, done_count
    from replay.request_status$$, $$values ('FAILED', 'RELEASED', false, 0, 1)$$,
  'the request has failed, released, and bars nothing');
select throws_ok(format($$select replay.settle_items(fixture.host(), %L, %s)$$, :'request', :fence),
  'RP301', null, 'I9: a stalled holder that wakes writes nothing');
select is((select count(*) from replay.open_failure), 1::bigint, 'I19: the failure stays open');
select is_empty($$select from replay.progress where scope_key = 'Case:b'$$,
  'I19: no progress moves');
select is((select count(*) from replay.deferred), 1::bigint,
  'what waits behind it goes on waiting');
select results_eq($$select result from replay.attempt order by item_no$$,
  $$values ('SUCCEEDED'), ('ABANDONED')$$, 'the attempt in hand is abandoned');
select results_eq($$select action, actor from replay.audit_log where action ~ 'RELEASE'
    order by audit_id$$,
  $$values ('RELEASE_REQUEST_ASKED', 'fixture_operator'),
    ('REQUEST_RELEASED', 'fixture_approver')$$,
  'I18: the audit has both');
select is(fixture.refusal('fixture_approver', pg_temp.release('', pg_temp.named(:'asked')))
  ->> 'code', 'RP207', 'once');
select throws_ok(format($$select replay.release_request(fixture.host(), %L, '')$$, :'request'),
  'RP001', null, 'a reason is needed');
select throws_ok(format($$select replay.release_request(fixture.host(), %L, 'x')$$,
  gen_random_uuid()), 'RP103', null, 'the request is there');
select isnt(fixture.approved('{t2}'), null, 'and its failure can be planned again');

select * from finish();
rollback;
