begin;
\ir lib/fixtures.psql
select plan(5);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}')
\g /dev/null
select fixture.project('{t1,t2}')
\g /dev/null
select fixture.approved('{t1,t2}') as request, fixture.pass('1 minute')
\gset
select fixture.decide('fixture_operator', 'execute', :'request'), fixture.pass('1 minute')
\g /dev/null
select fixture.run_chunk(:'request', p_limit => 1), fixture.pass('1 minute')
\g /dev/null
select fence from replay.claim_request(fixture.host(), :'request', fixture.plan_hash(:'request'))
\gset
select replay.begin_items(fixture.host(), :'request', :fence)
\g /dev/null

create temp view story as
select t.at - '2030-01-01 00:00Z' as at, t.kind, t.item_no, t.summary, t.fence
from replay.get_timeline(fixture.host(), (select request_id from replay.request)) t;

select results_eq('select at, kind, item_no, summary from story', $$values
  ('0 min'::interval, 'COMMAND', null::int, 'request created: handler mended'),
  ('0 min', 'COMMAND', null, 'request approved: because'),
  ('1 min', 'COMMAND', null, 'execution requested: because'),
  ('2 min', 'RUN', null, 'run 1 started'),
  ('2 min', 'ATTEMPT', 1, 'item 1 succeeded'),
  ('3 min', 'RUN', null, 'run 1 abandoned after 1 chunks'),
  ('3 min', 'RUN', null, 'run 2 started'),
  ('3 min', 'BARRIER', 2, 'item 2 bars 1 scopes')$$,
  'one story: commands, runs, attempts, and the barriers that stand');
select is((select array_agg(distinct fence) filter (where fence is not null) from story),
  '{1,2}', 'each with its run');
select results_eq(
  format($$select t.actor from replay.get_timeline(fixture.host(), %L) t limit 2$$, :'request'),
  $$values ('fixture_operator'), ('fixture_approver')$$, 'and its person');
select unalike(
  (select string_agg(t::text, ' ') from replay.get_timeline(fixture.host(), :'request') t),
  '%4711%', 'I16: no payload');
select throws_ok(format($$select replay.get_timeline(fixture.host(), %L)$$, gen_random_uuid()),
  'RP103', null, 'the request is there');

select * from finish();
rollback;
