begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(15);

create function pg_temp.faults() returns text[] language sql
  return array(
    select p.lane || ' ' || p.fault_code || ' ' || (p.fault_at = replay._now())
    from replay.position p
    where p.fault_code is not null
    order by p.host_id, p.lane);

select lives_ok($$select replay.report_fault('cases', p_fault_code => '53100')$$,
  'nothing stands still, and nothing is noted');
select is(pg_temp.faults(), '{}'::text[], 'no position has a fault');

select replay.set_lanes(fixture.host(), 2), fixture.in_lane(0) as zero, fixture.in_lane(1) as one
\gset
select fixture.append('t0', array[:'zero' || '@1']), fixture.append('t1', array[:'one' || '@1']),
  fixture.append('t2', array[:'zero' || '@2'])
\g /dev/null
select replay.report_fault('cases', p_fault_code => '53100')
\g /dev/null
select is(pg_temp.faults(), '{0 53100 true,1 53100 true}'::text[],
  'D7: the first batch of a position can be at fault too');
select fixture.pass('1 minute')
\g /dev/null
select replay.report_fault('cases', p_host_id => fixture.host(), p_lane => 1,
  p_fault_code => repeat('x', 101))
\g /dev/null
select is(
  pg_temp.faults(), array['0 53100 false', '1 ' || repeat('x', 100) || ' true'],
  'it may be one lane, and a code has a bound');
select replay.report_fault('cases', p_host_id => '22222222-2222-4222-8222-222222222222',
  p_fault_code => '40P01')
\g /dev/null
select is(pg_temp.faults(), array['0 53100 false', '1 ' || repeat('x', 100) || ' true'],
  'I15: another host is another matter');
select is((select max(last_offset) from replay.position), 0::bigint, 'D7: the position stays');
select is_empty('select from replay.failure', 'D7: and no failure is captured');

select array_agg(b) from replay.claim_batch('cases', p_lane => 0) b
\g /dev/null
select fixture.complete('t0')
\g /dev/null
select is(pg_temp.faults(), array['1 ' || repeat('x', 100) || ' true'],
  'the next completed batch clears it, and no other');
select replay.report_fault('cases', p_fault_code => '08006')
\g /dev/null
select is(pg_temp.faults(), '{1 08006 true}'::text[],
  'a lane that is read to its end stands not still');
select fixture.process()
\g /dev/null
select is(pg_temp.faults(), '{}'::text[], 'and so it goes on by itself');

select fixture.intended('{t0}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select is(array(select transaction_id from replay.wake), '{t2}'::text[], 'one was woken');
select replay.report_fault('cases', p_fault_code => '40P01')
\g /dev/null
select is(pg_temp.faults(), '{0 40P01 true}'::text[], 'a batch that drains can be at fault too');
select fixture.process()
\g /dev/null
select is(pg_temp.faults(), '{}'::text[], 'and goes on as well');

select throws_ok($$select replay.report_fault('nobody', p_fault_code => '40P01')$$, 'RP101', null,
  'only what is registered has positions');
select throws_ok($$select replay.report_fault('cases', 'other', p_fault_code => '40P01')$$, 'RP101',
  null, 'by its consumer group too');

select * from finish();
rollback;
