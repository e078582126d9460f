begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(10);

-- What the holder of the last request, or somebody with another fence, has drained.
create function pg_temp.report(p_applied_count int, p_failed_count int, p_fence_off int default 0)
returns text language sql as $$
  select format('select replay.report_drain(%L, %L, %s, %s, %s)', r.host_id, r.request_id,
    r.fence + p_fence_off, coalesce(p_applied_count::text, 'null'),
    coalesce(p_failed_count::text, 'null'))
  from fixture.made() r $$;

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}')
\g /dev/null
select fixture.fail_in_turn('t1', 't2'), fixture.intended('{t1}'), fixture.claim_request()
\g /dev/null
select throws_ok(pg_temp.report(1, 0), 'RP207', null, 'a replay that goes on has drained nothing');
select fixture.run_chunk()
\g /dev/null
select is((fixture.made()).status, 'SUCCEEDED', 'it has ended');

select throws_ok(pg_temp.report(1, 0, -1), 'RP301', null, 'I9: whoever ended it drains behind it');
select throws_ok(pg_temp.report(-1, 0), 'RP001', null, 'nobody drains less than nothing');
select throws_ok(pg_temp.report(1, -1), 'RP001', null, 'or fails so');
select throws_ok(pg_temp.report(null, 0), 'RP001', null, 'a count is a count');
select lives_ok(pg_temp.report(3, 1), 'who brought it to its end tells what was drained');
select results_eq(
  $$select actor = session_user, detail from replay.audit where action = 'RUN_DRAINED'
    and request_id = (fixture.made()).request_id$$,
  $$values (true, '{"fence": 1, "applied_count": 3, "failed_count": 1}'::jsonb)$$,
  'I18: audited');
select throws_ok(
  $$select replay.report_drain(host_id, gen_random_uuid(), fence, 1, 0) from fixture.made()$$,
  'RP103', null, 'the request exists');

select fixture.intended('{t2}'), fixture.claim_request(), fixture.begin_items(),
  fixture.load_items(),
  fixture.complete_items(p_failures => jsonb_build_array(fixture.error_report(1)))
\g /dev/null
select fixture.settle_items()
\g /dev/null
select throws_ok(pg_temp.report(1, 0), 'RP207', null, 'nothing is drained behind what FAILED');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
