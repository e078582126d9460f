begin;
\ir lib/fixtures.psql
select plan(12);

create function pg_temp.state(p_instance_id text) returns text language sql
  return (select s.state from replay.instance_status s where s.instance_id = p_instance_id);

select is((select is_confirmed from replay.get_status()), true, 'nobody is expected');
select replay.expect_instance('worker-1')
\g /dev/null
select is(pg_temp.state('worker-1'), 'MISSING', 'who is expected is missing');
select is((select is_confirmed from replay.get_status()), false, 'then nothing is confirmed');
select is((replay.report_instance('worker-1')).enabled, true, 'it is given the settings');
select is(pg_temp.state('worker-1'), 'CONFIRMED', 'and is known to have them');
select is((select is_confirmed from replay.get_status()), true, 'confirmed');
select replay.pause_execution('careful'), replay.report_instance('worker-2')
\g /dev/null
select is(pg_temp.state('worker-1'), 'OTHER_GENERATION', 'I14: not those that were set since');
select is((select is_confirmed from replay.get_status()), false, 'I14: a pause is unconfirmed');
select is((replay.report_instance('worker-1')).enabled, false, 'until it was seen again');
select is((select is_confirmed from replay.get_status()), true, 'then it is');
select fixture.pass('61 seconds')
\g /dev/null
select is((select is_confirmed from replay.get_status()), false, 'one that is stale confirms nothing');
select replay.expect_instance('worker-1', false)
\g /dev/null
select is((select is_confirmed from replay.get_status()), true, 'unless it is out of service');

select * from finish();
rollback;
