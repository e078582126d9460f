begin;
\ir lib/fixtures.psql
select plan(9);

select fixture.append('t1', '{a@1,b@1}'), fixture.append('t2', '{a@2}'),
  fixture.append('t3', '{a@3,c@1}'), fixture.append('t4', '{c@2}'), fixture.append('t5', '{d@1}'),
  fixture.append('t6', '{b@2}')
\g /dev/null
select fixture.project('{t1}')
\g /dev/null
select (f).* from replay.get_failure(fixture.host(), fixture.failure('t1')) f
\gset

select is(:'transaction_id'::text, 't1', 'tells the transaction');
select is(:'error_code'::text || ' ' || :'error_handler', 'BadCase cases.opened',
  'tells the error');
select is(:'scopes'::text, '{"(AGGREGATE,Case:a,1,1)","(AGGREGATE,Case:b,1,1)"}',
  'tells the scopes');
select is(:waiting_count, 4, 'counts what waits for it, through other scopes too');
select is(:observation_count, 0, 'counts further deliveries');
select is(
  (select array_agg(m ->> 'event_id' || ' ' || (m ->> 'aggregate_id')) from
    jsonb_array_elements(:'members'::jsonb) m),
  '{"t1/1 a","t1/2 b"}', 'tells the members');
select is(:'fingerprint'::bytea, replay._fingerprint(fixture.host(), 'cases', 'default', 't1',
  '{t1/1,t1/2}',
  array(select digest from replay.event where transaction_id = 't1' order by ordinal)),
  'tells the fingerprint');
select unalike(
  (select f::text from replay.get_failure(fixture.host(), fixture.failure('t1')) f), '%4711%',
  'I16: and no payload');
select throws_ok($$select replay.get_failure('22222222-2222-4222-8222-222222222222',
  fixture.failure('t1'))$$, 'RP102', null, 'I15: another host has no such failure');

select * from finish();
rollback;
