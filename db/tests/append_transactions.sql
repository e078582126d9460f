begin;
set local client_min_messages = warning;
select plan(31);

create function pg_temp.member(t text, n int, o int, changes jsonb default '{}')
  returns bytea
  language sql
  return convert_to((jsonb_build_object('specversion', '1.0', 'id', t || '/' || o,
    'source', 'urn:test', 'type', 'Noted', 'host', '00000000-0000-4000-8000-000000000001',
    'transactionid', t, 'transactioncount', n, 'transactionordinal', o, 'eventschema', '1',
    'data', '{"a": null}'::jsonb) || changes)::text, 'UTF8');
create function pg_temp.step(t text, n int, o int, a text, v int, changes jsonb default '{}')
  returns bytea
  language sql
  return pg_temp.member(t, n, o, jsonb_build_object('type', 'Stepped', 'aggregatetype', 'Case',
    'subject', a, 'aggregateversion', v) || changes);
create function pg_temp.append(ids text[], counts int[], variadic events bytea[])
  returns setof replay.transaction
  language sql
begin atomic
  select t.* from replay.append_transactions('00000000-0000-4000-8000-000000000001', ids, counts,
    events, (select r.digest from replay.registry r order by r.registry_version desc limit 1)) t;
end;

select replay.publish_registry('[
  {"event_type": "Stepped", "event_schema": "1", "policy": "AGGREGATE_VERSION",
    "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY", "side_effects": "NONE"},
  {"event_type": "Noted", "event_schema": "1", "policy": "TRANSACTION_ONLY",
    "repair_disposition": "NOT_REPAIRABLE_UNORDERED", "side_effects": "NONE"},
  {"event_type": "Sent", "event_schema": "1", "policy": "NOT_REPLAYABLE",
    "repair_disposition": "NOT_REPAIRABLE_UNORDERED", "side_effects": "NONE"}]')
\g /dev/null

-- What is stored
select results_eq(
  $$select transaction_id, member_count, runs_alone, scopes
    from pg_temp.append('{t1,t2,t3}', '{2,1,1}', pg_temp.step('t1', 2, 0, 'A', 1),
      pg_temp.step('t1', 2, 1, 'A', 2), pg_temp.member('t2', 1, 0, '{"type": "Sent"}'),
      pg_temp.step('t3', 1, 0, 'A', 3))$$,
  $$values ('t1', 2, false, array[row('AGGREGATE', 'Case:A', 1, 2)::replay.scope_range]),
    ('t2', 1, true, array[row('TRANSACTION', 't2', null, null)::replay.scope_range]),
    ('t3', 1, false, array[row('AGGREGATE', 'Case:A', 3, 3)::replay.scope_range])$$,
  'each is answered in its order, and may follow one before it in the call');
select results_eq(
  $$select t.transaction_id, t.byte_count, sum(octet_length(e.payload))
    from replay.transaction t
    join replay.event e on (e.host_id, e.transaction_id) = (t.host_id, t.transaction_id)
    group by t.transaction_id, t.byte_count, t.byte_count order by 1$$,
  $$select t, b, b::bigint from (values ('t1', octet_length(pg_temp.step('t1', 2, 0, 'A', 1)) * 2),
    ('t2', octet_length(pg_temp.member('t2', 1, 0, '{"type": "Sent"}'))),
    ('t3', octet_length(pg_temp.step('t3', 1, 0, 'A', 3)))) v (t, b)$$,
  'bytes are counted by transaction');
select results_eq(
  $$select event_id, payload from replay.event where transaction_id = 't1' order by ordinal$$,
  $$select 't1/' || o, pg_temp.step('t1', 2, o, 'A', o + 1) from generate_series(0, 1) o$$,
  'I2: the bytes are kept as they are');
select results_eq($$select version from replay.stream_head where scope_key = 'Case:A'$$,
  'values (3::bigint)', 'the stream is where the last one leaves it');

-- Lost answers
select results_eq(
  $$select transaction_id, registry_version from pg_temp.append('{t2,t4,t1}', '{1,1,2}',
    pg_temp.member('t2', 1, 0, '{"type": "Sent"}'), pg_temp.step('t4', 1, 0, 'A', 4),
    pg_temp.step('t1', 2, 0, 'A', 1), pg_temp.step('t1', 2, 1, 'A', 2))$$,
  $$values ('t2', 1), ('t4', 1), ('t1', 1)$$,
  'D9: what is there already is answered beside what is new');
select results_eq(
  $$select transaction_id from pg_temp.append('{t5,t5,t6}', '{1,1,1}',
    pg_temp.step('t5', 1, 0, 'A', 5), pg_temp.step('t5', 1, 0, 'A', 5),
    pg_temp.step('t6', 1, 0, 'A', 6))$$, $$values ('t5'), ('t5'), ('t6')$$,
  'one that stands twice is appended once and answered twice');
select throws_ok(statement, 'RP201', null, description)
from (values
  ($$select pg_temp.append('{t7,t1}', '{1,1}', pg_temp.step('t7', 1, 0, 'A', 7),
    pg_temp.step('t1', 1, 0, 'A', 1))$$, 'D9: other bytes are a conflict'),
  ($$select pg_temp.append('{t7,t7}', '{1,1}', pg_temp.step('t7', 1, 0, 'A', 7),
    pg_temp.step('t7', 1, 0, 'B', 1))$$, 'also of what stands in the same call')
) m (statement, description);

-- Refusals name their transaction
create function pg_temp.refused(statement text) returns text language plpgsql as $$
declare
  v_detail text;
begin
  execute statement;
  return 'nothing';
exception when others then
  get stacked diagnostics v_detail = pg_exception_detail;
  return sqlstate || ' ' || coalesce(v_detail::jsonb ->> 'transaction_id', 'nobody');
end;
$$;
select is(pg_temp.refused(format($$select pg_temp.append('{u1,u2,u3}', '{1,%s,1}',
    pg_temp.step('u1', 1, 0, 'U', 1), %s, pg_temp.step('u3', 1, 0, 'U', 2))$$, count, events)),
  code || ' u2', description)
from (values
  (1, $$'\xff'::bytea$$, 'RP002', 'no UTF-8'),
  (1, $$convert_to('{"a": 1', 'UTF8')$$, 'RP002', 'no JSON'),
  (1, $$pg_temp.member('u2', 1, 0, '{"id": 7}')$$, 'RP002', 'a malformed attribute'),
  (1, $$pg_temp.member('u2', 2, 0)$$, 'RP003', 'a member is missing'),
  (2, $$pg_temp.member('u2', 2, 1), pg_temp.member('u2', 2, 0)$$, 'RP003', 'order of ordinals'),
  (1, $$pg_temp.member('u3', 1, 0)$$, 'RP003', 'the id of another one in the call'),
  (1, $$pg_temp.member('u2', 1, 0, jsonb_build_object('data', jsonb_build_object('a',
    repeat('x', 4194304))))$$, 'RP004', 'too large an event'),
  (2, $$pg_temp.step('u2', 2, 0, 'N', 1), pg_temp.step('u2', 2, 1, 'N', 3)$$, 'RP005', 'a gap'),
  (1, $$pg_temp.member('u2', 1, 0, '{"type": "Stepped"}')$$, 'RP005', 'missing evidence'),
  (2, $$pg_temp.step('u2', 2, 0, 'N', 1), pg_temp.member('u2', 2, 1, '{"type": "Sent"}')$$,
    'RP005', 'D2: ordered beside what is not replayable'),
  (1, $$pg_temp.member('u2', 1, 0, '{"type": "Else"}')$$, 'RP006', 'an unknown type'),
  (1, $$pg_temp.member('u2', 1, 0, '{"data": [1]}')$$, 'RP008', 'data that is no object'),
  (1, $$pg_temp.member('u2', 1, 0, '{"id": "t1/0"}')$$, 'RP202', 'an event id that is taken'),
  (1, $$pg_temp.member('u2', 1, 0, '{"id": "u1/0"}')$$, 'RP202', 'or stands twice in the call'),
  (1, $$pg_temp.step('u2', 1, 0, 'A', 9)$$, 'RP203', 'a version that is ahead'),
  (1, $$pg_temp.step('u2', 1, 0, 'N', 2)$$, 'RP203', 'a stream that does not begin at 1'),
  (1, $$pg_temp.step('u2', 1, 0, 'U', 3)$$, 'RP203', 'or ahead of one before it in the call')
) m (count, events, code, description);
select is_empty($$select from replay.transaction where transaction_id ~ '^[u7]'$$,
  'I4: of what was refused nothing is stored');

-- The call itself
select throws_ok(statement, code, null, description)
from (values
  ($$select pg_temp.append('{v1,v2}', '{1}', pg_temp.member('v1', 1, 0))$$, 'RP001',
    'a count is missing'),
  ($$select pg_temp.append('{v1,v2}', '{1,0}', pg_temp.member('v1', 1, 0))$$, 'RP001',
    'a transaction without events'),
  ($$select pg_temp.append('{v1,v2}', '{1,2}', pg_temp.member('v1', 1, 0))$$, 'RP001',
    'counts of more events than there are'),
  ($$select pg_temp.append(array_fill('v'::text, array[501]), array_fill(1, array[501]),
    variadic array_fill(pg_temp.member('v', 1, 0), array[501]))$$, 'RP004',
    'more than 500 transactions')
) m (statement, code, description);
set constraints all immediate;
select results_eq('select transaction_id from replay.outbox order by source_offset',
  $$values ('t1'), ('t2'), ('t3'), ('t4'), ('t5'), ('t6')$$,
  'offsets are given in the order of the calls and of the transactions in them');

select * from finish();
rollback;
