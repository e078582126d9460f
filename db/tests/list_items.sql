begin;
\ir lib/fixtures.psql
select plan(4);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}'), fixture.append('t3', '{c@1}')
\g /dev/null
select fixture.project('{t1,t2,t3}')
\g /dev/null
select fixture.damage('update replay.failure set captured_at = captured_at
  + source_offset * interval ''1 second''')
\g /dev/null
select fixture.approved('{t1,t2,t3}') as request
\gset

select results_eq(
  format($$select item_no, transaction_id, status, attempt_count, ended_at
    from replay.list_items(fixture.host(), %L)$$, :'request'),
  $$values (1, 't1', 'PENDING', 0, null::timestamptz), (2, 't2', 'PENDING', 0, null),
    (3, 't3', 'PENDING', 0, null)$$, 'items in the order of the plan');
select fixture.decide('fixture_operator', 'execute', :'request')
\g /dev/null
select fixture.run_chunk(:'request', p_limit => 1), fixture.run_chunk(:'request', '{t2}', 1)
\g /dev/null
select results_eq(
  format($$select item_no, status, failure_status, attempt_count, last_fence, error_code
    from replay.list_items(fixture.host(), %L)$$, :'request'),
  $$values (1, 'SUCCEEDED', 'RESOLVED', 1, 1::bigint, null),
    (2, 'FAILED', 'OPEN', 1, 2, 'StillBad'), (3, 'PENDING', 'OPEN', 0, null, null)$$,
  'X6: each with how its last try ended; what stands behind a failed one was not tried');
select unalike((select string_agg(i::text, ' ') from replay.item i), '%4711%', 'I16: no payload');
select throws_ok(format($$select replay.list_items(fixture.host(), %L)$$, gen_random_uuid()),
  'RP103', null, 'the request is there');

select * from finish();
rollback;
