begin;
\ir lib/fixtures.psql
select plan(30);

select replay.set_lanes(fixture.host(), 2), fixture.in_lane(0) as zero, fixture.in_lane(1) as one
\gset
-- g2 is read and h1, in the other lane, is not: aggregate "gap" misses its version 1.
select fixture.append('h1', array[:'one' || '@1', 'gap@1']),
  fixture.append('g2', array[:'zero' || '@1', 'gap@2']),
  fixture.append('g3', array[:'zero' || '@2', 'after@1'])
\g /dev/null
select fixture.project(p_lane => 0)
\g /dev/null

select is(
  fixture.refusal('fixture_operator', $$select replay.preview_request(fixture.host(), 'cases',
    p_strategy => 'DEPENDENCY_CLOSURE', p_transaction_ids => '{g3}')$$)
  - '{found_transaction_id,deferred_transaction_id}'::text[],
  '{"code": "RP012", "scope_type": "AGGREGATE", "scope_key": "Case:gap", "expected": 1,
    "found": 2, "appended": true}',
  'REPLAY_GAP is reported exactly, and that the event store has what is missing');
select results_eq(
  $$select scope_key, missing_first, missing_last, found_version, appended from replay.gap$$,
  $$values ('Case:gap', 1::bigint, 1::bigint, 2::bigint, true)$$, 'the view tells the same gap');

select replay.register_projection('other')
\g /dev/null
select replay.start_projection('other')
\g /dev/null
select fixture.project(p_lane => 1), fixture.project(p_lane => 0)
\g /dev/null
select is_empty('select * from replay.gap', 'O12: a gap heals by itself');
select is_empty($$select * from replay.deferred_work where projection = 'cases'$$,
  'and what waited for it has flowed');

-- t1 <- t2 <- t3 over a and b; f1 fails too and d2 waits for both it and t1; n1 is unordered.
select fixture.append('t1', '{a@1}'), fixture.append('t2', '{a@2,b@1}'),
  fixture.append('t3', '{b@2}'), fixture.append('f1', '{d@1}'),
  fixture.append('d2', '{d@2,a@3}'), fixture.append('n1', '{}'),
  fixture.append('m1', '{}', 'Mailed'),
  fixture.append('ok', '{e@1}'), fixture.append('x1', '{x@1}'), fixture.append('x2', '{x@2}')
\g /dev/null
select fixture.project('{t1,f1,n1,m1,x1}')
\g /dev/null
select fixture.project('{t1}', p_projection => 'other')
\g /dev/null

create function pg_temp.preview(
  p_failing text[],
  p_strategy text default 'EXACT',
  p_transaction_ids text[] default '{}',
  p_scopes jsonb default '[]'
) returns replay.request_preview language sql
begin atomic
  select replay.preview_request(fixture.host(), 'cases', 'default', p_strategy,
    array(select fixture.failure(t) from unnest(p_failing) t), p_transaction_ids, p_scopes);
end;
create function pg_temp.items(p replay.request_preview) returns text language sql
begin atomic
  select string_agg(i ->> 'transaction_id', ' ' order by i ->> 'transaction_id')
  from jsonb_array_elements((p).items) i;
end;

select is(pg_temp.items(pg_temp.preview('{t1}')), 't1', 'EXACT is the chosen failures');
select is((pg_temp.preview('{t1}')).waiting_count, 3::bigint,
  'what waits behind is shown and no item');
select is((pg_temp.preview('{t1}')).waiting,
  '[{"scope_type": "AGGREGATE", "scope_key": "Case:a", "first_version": 2, "last_version": 3,
      "transaction_count": 2},
    {"scope_type": "AGGREGATE", "scope_key": "Case:b", "first_version": 1, "last_version": 2,
      "transaction_count": 2},
    {"scope_type": "AGGREGATE", "scope_key": "Case:d", "first_version": 2, "last_version": 2,
      "transaction_count": 1}]',
  'by scope, with its versions');
select is(pg_temp.items(pg_temp.preview('{t1,n1,t1}')), 'n1 t1', 'selected twice, there once');
select is(
  (select array[p.item_count, p.member_count, p.byte_count] from pg_temp.preview('{t1,n1}') p),
  (select array[2, 2, sum(byte_count)] from replay.transaction
    where transaction_id in ('t1', 'n1')),
  'counts items, members and bytes');
select is(pg_temp.items(pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{t3}')), 't1',
  'the closure of a deferred transaction: what it waits for, through other scopes');
select is(pg_temp.items(pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{d2}')), 'f1 t1',
  'all that it waits for');
select is(pg_temp.items(pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{}',
  '[{"scope_type": "AGGREGATE", "scope_key": "Case:d"}]')), 'f1 t1',
  'the closure of a scope: what all that is deferred in it waits for');
select is(pg_temp.items(pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{}',
  '[{"scope_type": "AGGREGATE", "scope_key": "Case:x"}]')), 'x1', 'and its own failure');
select is(pg_temp.items(pg_temp.preview('{x1}', 'DEPENDENCY_CLOSURE', '{t2}',
  '[{"scope_type": "AGGREGATE", "scope_key": "Case:d"}]')), 'f1 t1 x1', 'or all of it together');
select is(pg_temp.items(pg_temp.preview('{t1}', 'DEPENDENCY_CLOSURE')), 't1',
  'an OPEN failure waits for nothing');

select is_empty('select * from replay.request', 'a preview writes nothing');
select is(fixture.refusal('fixture_operator', $$select replay.preview_request(fixture.host(),
  'cases', p_strategy => 'ALL')$$),
  '{"code": "RP001", "argument": "strategy", "allowed": ["EXACT", "DEPENDENCY_CLOSURE"]}',
  'an unknown strategy is refused, and told which there are');
select throws_ok($$select pg_temp.preview('{}')$$, 'RP001', null,
  'nothing selected is refused: there is no replay-all');
select throws_ok($$select pg_temp.preview('{t1}', 'EXACT', '{t2}')$$, 'RP001', null,
  'EXACT takes failure ids only');
select throws_ok($$select pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{}',
  '[{"scope_type": "TRANSACTION", "scope_key": "n1"}]')$$, 'RP001', null,
  'an unordered transaction is selected by its failure');
select throws_ok($$select pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{}', '["Case:d"]')$$,
  'RP001', null, 'a scope is an object');
select throws_ok($$select pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{}',
  '[{"scope_type": "AGGREGATE", "scope_key": "Case:e"}]')$$, 'RP001', null,
  'a selection that waits for nothing comes to nothing');
select throws_ok($$select replay.preview_request(fixture.host(), 'none')$$, 'RP101', null,
  'the projection is registered');
select throws_ok($$select replay.preview_request(fixture.host(), 'cases',
  p_failure_ids => array[fixture.failure('t1', 'other')])$$, 'RP102', null,
  'a failure of another projection is none of this one');
select throws_ok($$select replay.preview_request('22222222-2222-4222-8222-222222222222', 'cases',
  p_failure_ids => array[fixture.failure('t1')])$$, 'RP102', null,
  'I15: nor is one of another host');
select throws_ok($$select pg_temp.preview('{}', 'DEPENDENCY_CLOSURE', '{ok}')$$, 'RP104', null,
  'a selected transaction is deferred');
select is(
  fixture.refusal('fixture_operator', $$select replay.preview_request(fixture.host(), 'cases',
    p_strategy => 'DEPENDENCY_CLOSURE', p_transaction_ids => '{t1}')$$),
  jsonb_build_object('code', 'RP104', 'transaction_id', 't1', 'failure_id', fixture.failure('t1')),
  'one that failed itself is named by its failure');
select is(
  fixture.refusal('fixture_operator', format($$select replay.preview_request(fixture.host(),
    'cases', p_failure_ids => %L)$$, array[fixture.failure('m1'), fixture.failure('t1')])),
  jsonb_build_object('code', 'RP011', 'failure_count', 1, 'failure_ids',
    array[fixture.failure('m1')]),
  'a failure with side effects cannot be replayed, and is named');
select fixture.damage($$update replay.failure set byte_count = 268435456
  where transaction_id = 'f1'$$)
\g /dev/null
select throws_ok($$select pg_temp.preview('{t1,f1}')$$, 'RP009', null, 'a plan is at most 256 MiB');
select throws_ok($$select replay.preview_request(fixture.host(), 'cases', p_failure_ids =>
  array(select gen_random_uuid() from generate_series(1, 10001)))$$, 'RP009', null,
  'a selection is at most 10,000 failures');

select * from finish();
rollback;
