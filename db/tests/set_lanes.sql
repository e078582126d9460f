begin;
set local client_min_messages = warning;
select plan(12);

create function pg_temp.append(t text)
  returns replay.transaction
  language sql
  return replay.append_transaction('00000000-0000-4000-8000-000000000001', t, array[convert_to(
    jsonb_build_object('specversion', '1.0', 'id', t, 'source', 'urn:test', 'type', 'Noted',
      'host', '00000000-0000-4000-8000-000000000001', 'transactionid', t, 'transactioncount', 1,
      'transactionordinal', 0, 'eventschema', '1', 'data', '{}'::jsonb)::text, 'UTF8')],
    (select r.digest from replay.registry r));
select replay.publish_registry('[{"event_type": "Noted", "event_schema": "1",
  "policy": "TRANSACTION_ONLY", "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY",
  "side_effects": "NONE"}]')
\g /dev/null

select pg_temp.append('early/' || n) from generate_series(1, 5) n
\g /dev/null
select is((replay.set_lanes('00000000-0000-4000-8000-000000000001', 4)).lane_count, 4,
  'more lanes');
select pg_temp.append('late/' || n) from generate_series(1, 100) n
\g /dev/null
set constraints all immediate;
select is((select max(o.lane) from replay.outbox o where o.transaction_id like 'early/%'), 0,
  'a host has one lane');
select results_eq('select distinct o.lane from replay.outbox o order by o.lane',
  'select generate_series(0, 3)', 'until it is given more, which then all get work');
select results_eq(
  'select o.lane, count(*), min(o.source_offset), max(o.source_offset) from replay.outbox o
    group by o.lane order by o.lane',
  'select l.lane, l.last_offset, 1::bigint, l.last_offset from replay.outbox_lane l
    order by l.lane',
  'offsets have no gaps in any lane');
select is((replay.set_lanes('00000000-0000-4000-8000-000000000001', 4)).lane_count, 4,
  'as many as it has change nothing');
select throws_ok($$select replay.set_lanes('00000000-0000-4000-8000-000000000001', 3)$$, 'RP001',
  null, 'never fewer');
select throws_ok($$select replay.set_lanes('00000000-0000-4000-8000-000000000001', 0)$$, 'RP001',
  null, 'not none');
select throws_ok($$select replay.set_lanes('00000000-0000-4000-8000-000000000001', 1025)$$, 'RP001',
  null, 'not more than 1024');
select throws_ok($$select replay.set_lanes('00000000-0000-4000-8000-000000000001', null)$$, 'RP001',
  null, 'a number of lanes');
select throws_ok('select replay.set_lanes(null, 2)', 'RP001', null, 'a host');
select results_eq('select host_id, lane_count from replay.host',
  $$values ('00000000-0000-4000-8000-000000000001'::uuid, 4)$$, 'the host keeps what it was given');
select results_eq($$select detail from replay.audit where action = 'LANES_SET'$$,
  $$values ('{"lane_count": 4}'::jsonb), ('{"lane_count": 4}')$$, 'I18: each call is in the audit');

select * from finish();
rollback;
