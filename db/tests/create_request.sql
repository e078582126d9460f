begin;
\ir lib/fixtures.psql
select plan(20);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1,c@1}'),
  fixture.append('t3', '{a@2}'), fixture.append('n1', '{}')
\g /dev/null
select fixture.project('{t1,t2,n1}')
\g /dev/null
select fixture.request('{t1,t2}') as request
\gset
select s.* from replay.request_status s where s.request_id = :'request'
\gset

select is(:'status'::text, 'AWAITING_APPROVAL', 'a plan awaits its approval');
select is(:'requested_by'::text, 'fixture_operator', 'by another than who asked');
select is(:'expires_at'::timestamptz, '2030-01-02 00:00Z', 'for 24 hours');
select is(array[:item_count, :done_count, :member_count], '{2,0,3}', 'it counts what it holds');
select is(:'plan_hash'::bytea, (select sha256(r.plan) from replay.request r),
  'the hash is of the plan');
select is((select r.plan from replay.request r), replay._plan_document(fixture.host(),
  (select projection_id from replay.projection), 'EXACT', 'EXECUTE',
  array(select i.failure_id from replay.request_item i order by i.item_no),
  '2030-01-02 00:00Z'), 'the plan is the document over its items');
select is(
  (select p.plan - '{failure_ids,fingerprints}'::text[] from replay.request_plan p),
  jsonb_build_object('contract', 'pyreplay.plan.v1', 'host_id', fixture.host(), 'projection',
    'cases', 'consumer_group', 'default', 'strategy', 'EXACT', 'mode', 'EXECUTE',
    'repair_ids', '[]'::jsonb, 'corrected_fingerprints', '[]'::jsonb,
    'registry_versions', '{1}'::int[],
    'scopes', '[{"scope_type": "AGGREGATE", "scope_key": "Case:a", "progress": 0},
      {"scope_type": "AGGREGATE", "scope_key": "Case:b", "progress": 0},
      {"scope_type": "AGGREGATE", "scope_key": "Case:c", "progress": 0}]'::jsonb,
    'item_count', 2, 'member_count', 3, 'byte_count', :byte_count,
    'expires_at', '2030-01-02 00:00Z'::timestamptz), 'people can read it');
select is(
  (select p.plan -> 'fingerprints' from replay.request_plan p),
  (select jsonb_agg(encode(f.fingerprint, 'hex') order by i.item_no) from replay.request_item i
    join replay.failure f using (host_id, failure_id)), 'with the fingerprints of its items');
select results_eq(
  $$select action, actor, reason, detail ->> 'from', detail ->> 'to' from replay.audit_log
    where request_id is not null$$,
  $$values ('REQUEST_CREATED', 'fixture_operator', 'handler mended', 'PLANNING',
    'AWAITING_APPROVAL')$$, 'the audit tells who and why');
select results_eq(
  $$select transaction_id from replay.item order by item_no$$,
  $$select transaction_id from replay.list_failures() where transaction_id <> 'n1'$$,
  'items stand in the order of their failures');

select is((fixture.call('fixture_operator', format($$select * from replay.create_request(
  fixture.host(), 'cases', p_strategy => 'DEPENDENCY_CLOSURE', p_transaction_ids => '{t3}',
  p_reason => 'closure')$$)) ->> 'item_count')::int, 1, 'a closure is planned like any selection');
select fixture.request('{n1,n1}', 'VALIDATE_ONLY') as validated
\gset
select results_eq(
  format($$select status, item_count, finished_at from replay.request_status
    where request_id = %L$$, :'validated'),
  $$values ('READY', 1, '2030-01-01 00:00Z'::timestamptz)$$,
  'VALIDATE_ONLY ends at READY; selected twice, there once');
select is((select p.plan #> '{scopes,0,progress}' from replay.request_plan p
  where p.request_id = :'validated'), '-1', 'an unordered transaction has no progress');

select throws_ok($$select fixture.request('{t1}', 'FORCE')$$, 'RP001', null,
  'there is no other mode');
select throws_ok($$select replay.create_request(fixture.host(), 'cases',
  p_failure_ids => array[fixture.failure('t1')])$$, 'RP001', null, 'a reason is needed');
select throws_ok($$select replay.create_request(fixture.host(), 'cases', p_reason => 'all')$$,
  'RP001', null, 'there is no replay-all');
select throws_ok($$select replay.create_request(fixture.host(), 'cases', 'none', p_reason => 'x',
  p_failure_ids => array[fixture.failure('t1')])$$, 'RP101', null, 'a consumer group is its own');
select throws_ok(format($$select replay.create_request(fixture.host(), 'cases', p_reason => 'x',
  p_failure_ids => array[fixture.failure('t1'), %L])$$, gen_random_uuid()), 'RP102', null,
  'each failure is there');
select fixture.approved('{n1}') as approved
\gset
select fixture.decide('fixture_operator', 'execute', :'approved')
\g /dev/null
select fixture.run_chunk(:'approved')
\g /dev/null
select is(fixture.refusal('fixture_operator', $$select replay.create_request(fixture.host(),
    'cases', p_reason => 'again',
    p_failure_ids => array[fixture.failure('t1'), fixture.failure('n1')])$$),
  jsonb_build_object('code', 'RP207', 'failure_id', fixture.failure('n1'), 'status', 'RESOLVED'),
  'X17: a RESOLVED failure is refused');
select is((select count(*) from replay.request), 4::bigint, 'what is refused leaves nothing');

select * from finish();
rollback;
