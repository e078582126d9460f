begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(26);

create function pg_temp.refuse() returns text language plpgsql as $$
declare
  v_detail jsonb;
begin
  perform fixture.load_items();
  return null;
exception when sqlstate 'RP208' then
  get stacked diagnostics v_detail = pg_exception_detail;
  return (v_detail ->> 'item_no') || ' ' || (v_detail ->> 'fact');
end;
$$;
create function pg_temp.prepare(p_transaction_ids text[]) returns int language plpgsql as $$
begin
  perform fixture.intended(p_transaction_ids), fixture.claim_request();
  return fixture.begin_items();
end;
$$;

select fixture.append('t1', '{a@1,b@1}'), fixture.append('n1', '{}'), fixture.append('t3', '{#g@1}')
\g /dev/null
select fixture.fail_in_turn('t1', 'n1', 't3'), fixture.intended('{t1,n1}'), fixture.claim_request()
\g /dev/null
select is(fixture.load_items(), '{}'::text[], 'without a chunk there is nothing to load');
select is(fixture.begin_items(), 2, 'a chunk of two');
create temp table chunk as
select b.* from fixture.made() r
cross join lateral replay.load_items(r.host_id, r.request_id, r.fence) b;
select results_eq(
  'select xact_id, ord, host_id, transaction_id, decision, was_deferred, follows from chunk',
  $$values (pg_current_xact_id(), 1, fixture.host(), 't1', 'APPLY', false, '{}'::int[]),
    (pg_current_xact_id(), 2, fixture.host(), 'n1', 'APPLY', false, '{}')$$,
  'I4: whole transactions under their item numbers, in the order of the plan');
select results_eq(
  'select event_types, event_schemas, payloads from chunk order by ord',
  $$select array_agg(e.event_type order by e.ordinal), array_agg(e.event_schema order by e.ordinal),
      array_agg(e.payload order by e.ordinal)
    from replay.event e where e.transaction_id in ('t1', 'n1') group by e.transaction_id
    order by e.transaction_id desc$$,
  'C9, I2: the bytes are those that live handlers saw');
select throws_ok($$select fixture.append('late', '{late@1}')$$, 'RP013', null,
  'a handler appends nothing');
select is(
  (select count(*) from pg_locks
    where locktype = 'advisory' and pid = pg_backend_pid() and objsubid = 1
      and (classid::bigint << 32) + objid::bigint = replay._liveness_key(
        (fixture.made()).host_id, (fixture.made()).request_id)), 1::bigint, 'the holder lives');
select fixture.complete_items(), fixture.settle_items()
\g /dev/null
select is((fixture.made()).status, 'SUCCEEDED', 'it is executed');

-- X10: what was approved is what runs, or nothing does
select is(pg_temp.prepare('{t3}'), 1, 'another is begun');
insert into replay.progress (host_id, projection_id, scope_type, scope_key, version)
values (fixture.host(), replay._projection_id('cases', 'default'), 'GRAPH_ROOT', 'g', 1);
select is(pg_temp.refuse(), '1 progress of GRAPH_ROOT g', 'X10, I7: progress moved since');
delete from replay.progress where scope_key = 'g';
select fixture.damage($$update replay.failure_member set payload = payload || ' '
  where event_id = 't3/1'$$)
\g /dev/null
select is(pg_temp.refuse(), '1 fingerprint', 'I2: bytes that were changed do not run');
select fixture.damage($$update replay.failure_member set payload = substr(payload, 1,
  octet_length(payload) - 1) where event_id = 't3/1'$$)
\g /dev/null
select fixture.damage($$update replay.failure_member set event_id = 'other'
  where event_id = 't3/1'$$)
\g /dev/null
select is(pg_temp.refuse(), '1 fingerprint', 'I2: nor do those of another event');
select fixture.damage($$update replay.failure_member set event_id = 't3/1'
  where event_id = 'other'$$)
\g /dev/null
select fixture.damage($$update replay.request_item set fingerprint = sha256('other')
  where request_id = (select request_id from fixture.made())$$)
\g /dev/null
select is(pg_temp.refuse(), '1 fingerprint', 'I7: nor those that were not approved');
select fixture.damage($$update replay.request_item i set fingerprint = f.fingerprint
  from replay.failure f where f.failure_id = i.failure_id$$)
\g /dev/null
select fixture.damage($$update replay.failure set status = 'WAIVED', resolution_code = 'WAIVED',
  resolved_at = replay._now() where transaction_id = 't3'$$)
\g /dev/null
select is(pg_temp.refuse(), '1 failure is WAIVED', 'I7: nor what was waived meanwhile');
select fixture.damage($$update replay.failure set status = 'OPEN', resolution_code = null,
  resolved_at = null where transaction_id = 't3'$$)
\g /dev/null
select is_empty('select * from replay.batch_item', 'what was refused is in no batch');
select is_empty($$select * from replay.attempt a where a.request_id = (fixture.made()).request_id$$,
  'and no attempt');
select replay.publish_registry('[{"event_type": "Grafted", "event_schema": "1",
  "policy": "GRAPH_ROOT",
  "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY", "side_effects": "NONE",
  "data_schema": "{\"type\": \"object\"}"}]')
\g /dev/null
select is(fixture.load_items(), '{t3}'::text[], 'a newer registry is no drift');
select fixture.complete_items(), fixture.settle_items()
\g /dev/null

-- I10, X17: two plans over one failure
select fixture.append('t4', '{d@1}'), fixture.append('t5', '{e@1}')
\g /dev/null
select fixture.process('t4', 't5'), fixture.intended('{t4,t5}'), fixture.claim_request()
\g /dev/null
select fixture.pass('1 minute'), fixture.intended('{t4}'), fixture.claim_request()
\g /dev/null
select is((fixture.run_chunk()).status, 'SUCCEEDED', 'one of them is executed');
select fixture.begin_items(1)
\g /dev/null
select throws_ok('select fixture.load_items(1)', 'RP208', null, 'I10: the other finds it resolved');
select is((fixture.settle_items(1, 'STALE_PLAN')).failure_code, 'STALE_PLAN', 'and ends');
select is(fixture.progress('Case:e'), 0::bigint, 'I10: without effect on its other items');

-- The fence and the lease
select fixture.append('t6', '{f@1}')
\g /dev/null
select fixture.process('t6'), pg_temp.prepare('{t6}')
\g /dev/null
select throws_ok(
  $$select replay.load_items(host_id, request_id, fence - 1) from fixture.made()$$, 'RP301', null,
  'I9: an older fence loads nothing');
select throws_ok(
  $$select replay.load_items(host_id, gen_random_uuid(), fence) from fixture.made()$$, 'RP103',
    null,
  'the request exists');
select fixture.claim_request()
\g /dev/null
select is(fixture.load_items(), '{}'::text[], 'a chunk that a dead holder began is not one''s own');
select throws_ok('select fixture.begin_items()', 'RP207', null, 'it is to be settled first');
select fixture.settle_items(), fixture.begin_items()
\g /dev/null
select is(fixture.load_items(), '{t6}'::text[], 'L5: and then it is begun again');
select fixture.complete_items()
\g /dev/null
select fixture.pass('1800 seconds')
\g /dev/null
select throws_ok('select fixture.load_items()', 'RP301', null,
  'I9: after the lease nothing is loaded');

select pg_advisory_unlock_all()
\g /dev/null
select * from finish();
rollback;
