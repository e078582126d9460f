begin;
\ir lib/fixtures.psql
select plan(23);

select replay.set_lanes(fixture.host(), 2), fixture.in_lane(0) as zero, fixture.in_lane(1) as one
\gset
select fixture.append('t1', array[:'zero' || '@1', 'a@1']),
  fixture.append('t2', array[:'zero' || '@2', 'a@2']),
  fixture.append('t3', array[:'zero' || '@3', 'b@1']), fixture.append('n1', '{}'),
  fixture.append('g1', array[:'one' || '@1', 'gap@1', 'gap@2']),
  fixture.append('g3', array[:'zero' || '@4', 'gap@3']),
  fixture.append('g5', array[:'one' || '@2', 'gap@4', 'gap@5']),
  fixture.append('g6', array[:'zero' || '@5', 'gap@6'])
\g /dev/null
select fixture.project('{t1}', 0), fixture.pass('899 seconds')
\g /dev/null

select results_eq(
  $$select transaction_id, scopes, age, error_code, replayable from replay.open_failure$$,
  format($$values ('t1', array['AGGREGATE Case:a @1', 'AGGREGATE Case:%s @1'],
    '899 seconds'::interval, 'BadCase', true)$$, :'zero'),
  'open_failure: what failed, and its age');
select results_eq(
  $$select blocked_version, incident, waiting_count, last_waiting_version from replay.blocked_scope
    where scope_key = 'Case:a'$$,
  $$values (1::bigint, false, 1::bigint, 2::bigint)$$, 'blocked_scope: what is held back');
select fixture.pass('1 second')
\g /dev/null
select is((select bool_and(incident) from replay.blocked_scope), true, 'an incident after 900 s');
select results_eq(
  $$select transaction_id, scope_key, waits_for, transaction_before, failure_id is not null
    from replay.deferred_work where scope_key !~ 'lane' order by 1$$,
  $$values ('g3', 'Case:gap', 'GAP', null, false), ('g6', 'Case:gap', 'GAP', 'g3', false),
    ('t2', 'Case:a', 'FAILURE', null, true), ('t3', 'Case:b', 'NOTHING', null, false)$$,
  'deferred_work: what each waits for in each scope');
select results_eq(
  $$select transaction_id, waits_for, transaction_before, failure_id is not null
    from replay.deferred_work where scope_key ~ 'lane' order by 1$$,
  $$values ('g3', 'TRANSACTION', 't3', true), ('g6', 'TRANSACTION', 'g3', true),
    ('t2', 'FAILURE', null, true), ('t3', 'TRANSACTION', 't2', true)$$,
  'and behind which failure it stands');
select results_eq(
  $$select scope_key, missing_first, missing_last, found_version, found_transaction_id, appended
    from replay.gap order by missing_first$$,
  $$values ('Case:gap', 1::bigint, 2::bigint, 3::bigint, 'g3', true),
    ('Case:gap', 4, 5, 6, 'g6', true)$$, 'gap: exactly the missing versions');
select results_eq(
  'select lane, last_offset, outbox_offset, lag, fault_code from replay.projection_lag order by 1',
  format($$select lane, case when lane = 0 then last_offset else 0 end, last_offset,
    case when lane = 0 then 0 else last_offset end, null from replay.outbox_lane order by 1$$),
  'projection_lag: how far each lane is read');
select fixture.append('z1', array[fixture.in_lane(0, 2) || '@1'])
\g /dev/null
select replay.report_fault('cases', 'default', p_fault_code => '53100')
\g /dev/null
select isnt((select count(fault_code) from replay.projection_lag), 0::bigint, 'and its fault');
select results_eq(
  $$select blocked_scope_count, oldest_age, incident, open_failure_count, gap_count, barrier_count,
    deferred_count from replay.health$$,
  $$values (2::bigint, '15 min'::interval, true, 1::bigint, 2::bigint, 0::bigint, 4::bigint)$$,
  'health: all of it in one row a projection');
select results_eq(
  $$select transaction_id, status from replay.transaction_status order by 1$$,
  format($$values ('g1', 'PENDING'), ('g3', 'DEFERRED'), ('g5', 'PENDING'), ('g6', 'DEFERRED'),
    ('n1', %L), ('t1', 'FAILED'), ('t2', 'DEFERRED'), ('t3', 'DEFERRED'), ('z1', 'PENDING')$$,
    (select case lane when 0 then 'APPLIED' else 'PENDING' end from replay.outbox
      where transaction_id = 'n1')),
  'transaction_status: what became of each transaction');

select fixture.approved('{t1}') as request
\gset
select fixture.decide('fixture_operator', 'execute', :'request')
\g /dev/null
select fence from replay.claim_request(fixture.host(), :'request', fixture.plan_hash(:'request'))
\gset
select replay.begin_items(fixture.host(), :'request', :fence)
\g /dev/null
select is((select count(*) from replay.blocked_scope where replaying_request_id = :'request'),
  2::bigint, 'blocked_scope tells who replays');
select is((select barrier_count from replay.health), 2::bigint, 'health counts barriers');
select replay.settle_items(fixture.host(), :'request', :fence)
\g /dev/null
select fixture.pass('1 hour')
\g /dev/null
select fixture.run_chunk(:'request')
\g /dev/null
select fixture.project(), fixture.project(), fixture.project()
\g /dev/null

select results_eq(
  $$select result, mode, transaction_id, claimed_by = session_user from replay.attempt_log$$,
  $$values ('SUCCEEDED', 'EXECUTE', 't1', true)$$, 'attempt_log: each try of each item');
select results_eq('select count(*) from replay.open_failure union all
  select count(*) from replay.blocked_scope union all select count(*) from replay.gap union all
  select count(*) from replay.deferred_work',
  'values (0::bigint), (0), (0), (0)', 'healed: nothing is left of it');
select results_eq(
  'select applied, deferred, drained, failed, replayed, conflict, stale
    from replay.projection_counter',
  'values (3::bigint, 5::bigint, 5::bigint, 1::bigint, 1::bigint, 0::bigint, 0::bigint)',
  'projection_counter: what was done');
select is((select array_agg(distinct status) from replay.transaction_status), '{APPLIED}',
  'all is applied');
select results_eq(
  $$select action from replay.audit_log where request_id is not null and action !~ '^RUN'
    order by audit_id$$,
  $$values ('REQUEST_CREATED'), ('REQUEST_APPROVED'), ('EXECUTION_REQUESTED'), ('REQUEST_CLAIMED'),
    ('REQUEST_RUNNING'), ('REQUEST_CLAIMED'), ('FAILURE_RESOLVED')$$, 'audit_log: every command and transition');
select is((select count(*) from replay.health where blocked_scope_count > 0 or incident), 0::bigint,
  'health is well again');

-- batch_event is the one exception: what a processor runs, of the batch that it holds.
select is_empty(
  $$select c.relname, a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'replay'::regnamespace and c.relkind = 'v'
      and c.relname <> 'batch_event' and a.attname ~ '^(payload|key|headers?)'$$, 'I16: no view has a payload, key or header');
select is_empty(
  $$select c.relname from pg_class c
    where c.relnamespace = 'replay'::regnamespace and c.relkind = 'v'
      and c.relname <> 'batch_event' and not has_table_privilege('replay_reader', c.oid, 'select')$$, 'a reader reads every view');
select is_empty(
  $$select c.relname from pg_class c join pg_rewrite r on r.ev_class = c.oid
      join pg_depend d on d.objid = r.oid and d.classid = 'pg_rewrite'::regclass
      join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
    where c.relnamespace = 'replay'::regnamespace and c.relkind = 'v' and a.attname = 'payload'
      and c.relname <> 'batch_event'$$,
  'I16: no view reads one');
select is(
  array(select r.rolname from pg_roles r
    where r.rolname ~ '^replay_(?!owner)'
      and has_table_privilege(r.oid, 'replay.batch_event', 'select')
      and not pg_has_role(r.oid, 'replay_processor', 'member')),
  '{}'::name[], 'I16: only processors read the batch in hand');
set local session authorization fixture_operator;
create temp table seen as
select
  (select count(*) from replay.request_status) + (select count(*) from replay.item)
  + (select count(*) from replay.request_plan) + (select count(*) from replay.gap)
  + (select count(*) from replay.health) + (select count(*) from replay.audit_log) as count;
reset session authorization;
select isnt((select count from seen), 0::bigint, 'a login role with the reader''s rights does');

select * from finish();
rollback;
