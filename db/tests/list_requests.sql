begin;
\ir lib/fixtures.psql
select plan(8);

select fixture.append('t1', '{a@1}')
\g /dev/null
select fixture.project('{t1}')
\g /dev/null
select fixture.request('{t1}') as first, fixture.pass('1 hour')
\gset
select fixture.approved('{t1}') as second, fixture.pass('1 hour')
\gset
select fixture.request('{t1}', 'VALIDATE_ONLY') as third
\gset

select results_eq('select request_id from replay.list_requests(fixture.host())',
  format('values (%L::uuid), (%L), (%L)', :'third', :'second', :'first'), 'the newest first');
select is((select count(*) from replay.list_requests()), 3::bigint, 'without a host, of all hosts');
select is_empty($$select replay.list_requests('22222222-2222-4222-8222-222222222222')$$,
  'I15: with one, of no other');
select results_eq($$select request_id from replay.list_requests(p_status => 'APPROVED')$$,
  format('values (%L::uuid)', :'second'), 'by status');
select results_eq('select request_id from replay.list_requests(p_limit => 1)',
  format('values (%L::uuid)', :'third'), 'as many as asked for');
select fixture.pass('23 hours')
\g /dev/null
select results_eq($$select request_id from replay.list_requests(p_status => 'EXPIRED')$$,
  format('values (%L::uuid), (%L)', :'second', :'first'),
  'a plan past its life is EXPIRED before anybody has written it down');
select is(
  jsonb_array_length(fixture.refusal('fixture_operator',
    $$select replay.list_requests(p_status => 'DONE')$$) -> 'allowed'), 10,
  'an unknown status is refused, and told which there are');
select throws_ok($$select replay.list_requests(p_limit => 1001)$$, 'RP001', null,
  'a list is at most 1000');

select * from finish();
rollback;
