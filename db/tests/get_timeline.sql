begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(12);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1,c@1}'),
  fixture.append('t3', '{d@1}'), fixture.append('a2', '{a@2}')
\g /dev/null
select fixture.fail_in_turn('t1', 't2', 't3'), fixture.process()
\g /dev/null
select fixture.approved('{t1,t2}') as request, fixture.pass('1 minute')
\gset
select fixture.decide('fixture_operator', 'execute', :'request'), fixture.pass('1 minute')
\g /dev/null
select fixture.run_chunk(p_request_id => :'request', p_limit => 1), fixture.pass('1 minute')
\g /dev/null
select fence from replay.claim_request(fixture.host(), :'request', fixture.plan_hash(:'request'))
\gset
select replay.begin_items(fixture.host(), :'request', :fence)
\g /dev/null

create function pg_temp.story(p_request_id uuid) returns table (
  at interval, kind text, actor text, fence bigint, item_no int, summary text, detail jsonb)
language sql
begin atomic
  select t.at - r.requested_at, t.kind,
    case t.actor when session_user then 'caller' else t.actor end, t.fence, t.item_no, t.summary,
    t.detail
  from replay.request r cross join lateral replay.get_timeline(r.host_id, r.request_id) t
  where r.request_id = p_request_id;
end;

select results_eq(
  format('select at, kind, item_no, summary from pg_temp.story(%L)', :'request'), $$values
  ('0 min'::interval, 'COMMAND', null::int, 'request created: handler mended'),
  ('0 min', 'COMMAND', null, 'request approved: because'),
  ('1 min', 'COMMAND', null, 'execution requested: because'),
  ('2 min', 'RUN', null, 'run 1 started'),
  ('2 min', 'CHUNK', null, 'chunk 1 of run 1 begun: 1 items, 1 scopes barred'),
  ('2 min', 'ATTEMPT', 1, 'item 1 succeeded'),
  ('2 min', 'CHUNK', null,
    'chunk 1 of run 1 settled: 1 barriers lowered, 1 deferred transactions woken'),
  ('3 min', 'RUN', null, 'run 1 abandoned after 1 chunks'),
  ('3 min', 'RUN', null, 'run 2 started'),
  ('3 min', 'CHUNK', null, 'chunk 1 of run 2 begun: 1 items, 2 scopes barred'),
  ('3 min', 'BARRIER', 2, 'item 2 bars 2 scopes')$$,
  'one story: commands, claims, chunks, attempts, and the barriers that stand');
select is(
  (select array_agg(distinct fence) filter (where fence is not null)
    from pg_temp.story(:'request')),
  '{1,2}', 'each with its run');
select results_eq(format('select actor from pg_temp.story(%L) limit 2', :'request'),
  $$values ('fixture_operator'), ('fixture_approver')$$, 'and its person');
select results_eq(
  format($$select detail from pg_temp.story(%L) where kind = 'CHUNK' and fence = 1$$, :'request'),
  $$values ('{"chunk_no": 1, "item_count": 1, "scope_count": 1, "first_item_no": 1,
      "last_item_no": 1}'::jsonb),
    ('{"chunk_no": 1, "chunk_fence": 1, "barrier_count": 1, "woken_count": 1}')$$,
  'and its figures, for programs');

-- Two chunks and what a dead holder left, all at one instant
select pg_advisory_unlock_all()
\g /dev/null
grant replay_processor to fixture_approver;
select fixture.call('fixture_approver', format('select * from replay.claim_request(%L, %L, %L)',
  fixture.host(), :'request', fixture.plan_hash(:'request'))) ->> 'fence' as fence
\gset
select fixture.call('fixture_approver',
  format('select * from replay.settle_items(%L, %L, %s)', fixture.host(), :'request', :fence))
\g /dev/null
select results_eq(
  format('select kind, actor, fence, item_no, summary from pg_temp.story(%L) offset 9',
    :'request'),
  $$values ('CHUNK', 'caller', 2::bigint, null::int,
      'chunk 1 of run 2 begun: 1 items, 2 scopes barred'),
    ('ATTEMPT', 'caller', 2, 2, 'item 2 abandoned'),
    ('RUN', 'caller', 2, null, 'run 2 abandoned after 1 chunks'),
    ('RUN', 'fixture_approver', 3, null, 'run 3 started'),
    ('CHUNK', 'fixture_approver', 3, null,
      'chunk 1 of run 2 settled: 2 barriers lowered, 0 deferred transactions woken')$$,
  'L5: what a dead holder left is settled by whoever claims it next');
select replay.begin_items(fixture.host(), :'request', :fence),
  array(select l.ord from replay.load_items(fixture.host(), :'request', :fence) l),
  replay.complete_items(fixture.host(), :'request', :fence, pg_current_xact_id(),
    '[{"ord": 2, "error_code": "StillBad"}]')
\g /dev/null
select replay.settle_items(fixture.host(), :'request', :fence)
\g /dev/null
select results_eq(
  format('select summary from pg_temp.story(%L) offset 14', :'request'),
  $$values ('chunk 1 of run 3 begun: 1 items, 2 scopes barred'), ('item 2 failed: StillBad'),
    ('chunk 1 of run 3 settled: 2 barriers lowered, 0 deferred transactions woken'),
    ('run 3 failed after 1 chunks: PROJECTION_FAILED')$$,
  'the end has its reason');

select fixture.approved('{t2,t3}') as request
\gset
select fixture.decide('fixture_operator', 'execute', :'request')
\g /dev/null
select fixture.run_chunk(p_request_id => :'request', p_limit => 1)
\g /dev/null
select replay.begin_items(fixture.host(), :'request', 1)
\g /dev/null
select array(select l.ord from replay.load_items(fixture.host(), :'request', 1) l),
  replay.complete_items(fixture.host(), :'request', 1, pg_current_xact_id())
\g /dev/null
select replay.settle_items(fixture.host(), :'request', 1)
\g /dev/null
select replay.report_drain(fixture.host(), :'request', 1, 5, 1)
\g /dev/null
select results_eq(
  format('select kind, summary from pg_temp.story(%L) where fence = 1', :'request'),
  $$values ('RUN', 'run 1 started'), ('CHUNK', 'chunk 1 of run 1 begun: 1 items, 2 scopes barred'),
    ('ATTEMPT', 'item 1 succeeded'),
    ('CHUNK', 'chunk 1 of run 1 settled: 2 barriers lowered, 0 deferred transactions woken'),
    ('CHUNK', 'chunk 2 of run 1 begun: 1 items, 1 scopes barred'), ('ATTEMPT', 'item 2 succeeded'),
    ('CHUNK', 'chunk 2 of run 1 settled: 1 barriers lowered, 0 deferred transactions woken'),
    ('RUN', 'run 1 succeeded after 2 chunks'),
    ('DRAIN', 'what waited was drained: 5 applied, 1 failed anew')$$,
  'all at one instant, the order is that of what happened');
select results_eq(
  format($$select actor, detail from pg_temp.story(%L) where kind = 'DRAIN'$$, :'request'),
  $$values ('caller', '{"applied_count": 5, "failed_count": 1}'::jsonb)$$,
  'with what was drained behind the end');

-- Released
select fixture.append('t4', '{e@1}'), fixture.project('{t4}'), fixture.approved('{t4}') as request
\gset
select fixture.decide('fixture_operator', 'execute', :'request')
\g /dev/null
select fence from replay.claim_request(fixture.host(), :'request', fixture.plan_hash(:'request'))
\gset
select replay.begin_items(fixture.host(), :'request', :fence), fixture.pass('1800 seconds')
\g /dev/null
select pg_advisory_unlock_all()
\g /dev/null
select fixture.call('fixture_operator', format(
  'select * from replay.release_request(%L, %L, %L)', fixture.host(), :'request', 'gone')) as asked
\gset
select fixture.call('fixture_approver', format(
  'select * from replay.release_request(%L, %L, %L, %L, %L)', fixture.host(), :'request', 'agreed',
  :'asked'::jsonb ->> 'action_id', :'asked'::jsonb -> 'impact'))
\g /dev/null
select results_eq(
  format('select actor, summary from pg_temp.story(%L) offset 4', :'request'),
  $$values ('caller', 'chunk 1 of run 1 begun: 1 items, 1 scopes barred'),
    ('fixture_operator', 'release request asked: gone'),
    ('caller', 'item 1 abandoned'), ('caller', 'run 1 abandoned after 1 chunks'),
    ('fixture_approver',
      'chunk 1 of run 1 settled: 1 barriers lowered, 0 deferred transactions woken'),
    ('fixture_approver', 'request released: agreed')$$,
  'or by the second person of a release');

select is((select count(*) from replay.audit where action = 'RUN_CHUNK_SETTLED'), 6::bigint,
  'I18: the audit has each chunk');
select unalike(
  (select string_agg(t::text, ' ')
    from replay.request r cross join lateral replay.get_timeline(r.host_id, r.request_id) t),
  '%4711%', 'I16: no payload');
select throws_ok(format($$select replay.get_timeline(fixture.host(), %L)$$, gen_random_uuid()),
  'RP103', null, 'the request is there');

select * from finish();
rollback;
