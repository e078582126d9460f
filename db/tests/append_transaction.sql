begin;
set local client_min_messages = warning;
select plan(117);

-- One member of transaction t: every attribute it needs, and what the case changes.
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
create function pg_temp.change(t text, n int, o int, g text, v int, changes jsonb default '{}')
  returns bytea
  language sql
  return pg_temp.member(t, n, o, jsonb_build_object('type', 'Changed', 'graphroot', g,
    'graphrevision', v) || changes);
create function pg_temp.append(t text, variadic events bytea[])
  returns replay.transaction
  language sql
  return replay.append_transaction('00000000-0000-4000-8000-000000000001', t, events,
    (select r.digest from replay.registry r order by r.registry_version desc limit 1));

select throws_ok($$select pg_temp.append('t0', pg_temp.member('t0', 1, 0))$$, 'RP001', null,
  'without a registry there is no digest to give');
select throws_ok($$select replay.append_transaction('00000000-0000-4000-8000-000000000001', 't0',
  array[pg_temp.member('t0', 1, 0)], 'x')$$, 'RP105', null, 'nor anything to append under');

select replay.publish_registry('[
  {"event_type": "Stepped", "event_schema": "1", "policy": "AGGREGATE_VERSION",
    "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY", "side_effects": "NONE"},
  {"event_type": "Changed", "event_schema": "1", "policy": "GRAPH_ROOT",
    "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY", "side_effects": "NONE"},
  {"event_type": "Noted", "event_schema": "1", "policy": "TRANSACTION_ONLY",
    "repair_disposition": "NOT_REPAIRABLE_UNORDERED", "side_effects": "NONE"},
  {"event_type": "Listed", "event_schema": "1", "policy": "TRANSACTION_ONLY", "data_schema":
    "{\"type\": \"array\"}",
    "repair_disposition": "NOT_REPAIRABLE_UNORDERED", "side_effects": "NONE"},
  {"event_type": "Mailed", "event_schema": "1", "policy": "TRANSACTION_ONLY",
    "repair_disposition": "NOT_REPAIRABLE_UNORDERED", "side_effects": "REPLAY_EXCLUDED"},
  {"event_type": "Sent", "event_schema": "1", "policy": "NOT_REPLAYABLE",
    "repair_disposition": "NOT_REPAIRABLE_UNORDERED", "side_effects": "NONE"}]')
\g /dev/null

-- What is stored
select is((pg_temp.append('t1', pg_temp.step('t1', 2, 0, 'A', 1), pg_temp.step('t1', 2, 1, 'A', 2)))
  .scopes, array[row('AGGREGATE', 'Case:A', 1, 2)::replay.scope_range],
  'the versions of one aggregate become one range');
select results_eq(
  $$select ordinal, event_id, payload, digest from replay.event where transaction_id = 't1'
    order by ordinal$$,
  $$select o, 't1/' || o, m, sha256(m)
    from generate_series(0, 1) o, pg_temp.step('t1', 2, o, 'A', o + 1) m$$,
  'I2: the bytes are kept as they are, under their digest');
select results_eq(
  $$select registry_version, member_count, runs_alone, appended_by
    from replay.transaction where transaction_id = 't1'$$,
  $$values (1, 2, false, replay._actor())$$, 'the pins stand beside the bytes');
select is((pg_temp.append('t2', pg_temp.change('t2', 3, 0, 'G', 1,
    '{"aggregatetype": "Case", "subject": "B", "aggregateversion": 1}'),
  pg_temp.change('t2', 3, 1, 'G', 1), pg_temp.change('t2', 3, 2, 'G', 2))).scopes,
  array[row('AGGREGATE', 'Case:B', 1, 1), row('GRAPH_ROOT', 'G', 1, 2)]::replay.scope_range[],
  'members of one root may share a revision, and carry an aggregate too');
select is((pg_temp.append('t3', pg_temp.member('t3', 1, 0, '{"subject": "A"}'))).scopes,
  array[row('TRANSACTION', 't3', null, null)::replay.scope_range],
  'without ordering evidence the scope is the transaction; a subject alone is none');
select is((pg_temp.append('t4', pg_temp.step('t4', 2, 0, 'A', 3), pg_temp.member('t4', 2, 1)))
  .scopes, array[row('AGGREGATE', 'Case:A', 3, 3)::replay.scope_range],
  'an ordered member may bring an unordered one along');
select ok((pg_temp.append('t5', pg_temp.member('t5', 1, 0, '{"type": "Mailed"}'))).runs_alone,
  'side effects make it a batch of its own');
select ok((pg_temp.append('t6', pg_temp.member('t6', 1, 0, '{"type": "Sent"}'))).runs_alone,
  'so does NOT_REPLAYABLE');
select lives_ok($$select pg_temp.append('t7', pg_temp.member('t7', 1, 0,
  '{"type": "Listed", "data": [1]}'))$$, 'data with a JSON Schema may be any JSON');
select lives_ok($$select pg_temp.append('t8', pg_temp.step('t8', 1, 0, 'Ünïcode 漢', 1,
  '{"graphroot": null, "graphrevision": null}'))$$, 'an attribute that is null counts as absent');
select isnt(
  (select e.digest from replay.event e where e.transaction_id = 't3'),
  sha256(pg_temp.member('t3', 1, 0, '{"subject": "A", "dataref": null}')),
  'H3: a field absent, and the same field null, are two digests');

-- Lost answers
select results_eq($$select pg_temp.append('t3', pg_temp.member('t3', 1, 0, '{"subject": "A"}'))$$,
  $$select t from replay.transaction t where t.transaction_id = 't3'$$,
  'D9: the same bytes again answer with what is stored');
select throws_ok($$select pg_temp.append('t3', pg_temp.member('t3', 1, 0, '{"subject": "B"}'))$$,
  'RP201', null, 'D9: other bytes are a conflict');
select throws_ok($$select pg_temp.append('t1', pg_temp.step('t1', 2, 0, 'A', 1))$$,
  'RP201', null, 'fewer members are a conflict');
select throws_ok($$select pg_temp.append('t3', convert_to(
  replace(convert_from(pg_temp.member('t3', 1, 0, '{"subject": "A"}'), 'UTF8'), ': ', ':'),
  'UTF8'))$$,
  'RP201', null, 'H1: other spacing is other bytes');

-- Malformed
select throws_ok(format($$select pg_temp.append('t9', %L::bytea)$$, payload), 'RP002', null,
  description)
from (values
  ('\xff'::bytea, 'no UTF-8'),
  ('{"id": "t9"', 'no JSON'),
  ('', 'nothing'),
  ('"t9"', 'no object'),
  ('[]', 'an array'),
  (convert_to(repeat('[', 20000), 'UTF8'), 'nested too deeply'),
  (pg_temp.member('t9', 1, 0, '{"data": {"n": 1}}') || '}', 'something behind it'),
  (overlay(pg_temp.member('t9', 1, 0) placing '{"id": "t9", ' from 1 for 1),
    'a key that stands twice'),
  (convert_to(replace(convert_from(pg_temp.member('t9', 1, 0), 'UTF8'), '"a"', '"a\u0000"'),
    'UTF8'), 'a character that jsonb cannot hold'),
  (convert_to(replace(convert_from(pg_temp.member('t9', 1, 0), 'UTF8'), '"a"', '"\ud800"'), 'UTF8'),
    'half a character'),
  (pg_temp.member('t9', 1, 0, '{"specversion": "0.3"}'), 'another CloudEvents version'),
  (pg_temp.member('t9', 1, 0, '{"id": null}'), 'no id'),
  (pg_temp.member('t9', 1, 0, '{"id": ""}'), 'an empty id'),
  (pg_temp.member('t9', 1, 0, '{"id": 7}'), 'an id that is no text'),
  (pg_temp.member('t9', 1, 0, jsonb_build_object('id', repeat('x', 513))), 'an endless id'),
  (pg_temp.member('t9', 1, 0, '{"type": "a\nb"}'), 'a control character'),
  (pg_temp.member('t9', 1, 0, '{"eventschema": 1}'), 'an event schema that is no text'),
  (pg_temp.member('t9', 1, 0, '{"host": "4711"}'), 'a host that is no UUID'),
  (pg_temp.member('t9', 1, 0, '{"time": "yesterday"}'), 'a time that is none')
) m (payload, description);
select throws_ok(
  format($$select pg_temp.append('t9', pg_temp.step('t9', 1, 0, 'N', 1, %L))$$, changes), 'RP002',
  null, description)
from (values
  ('{"aggregateversion": 0}', 'version 0'),
  ('{"aggregateversion": -1}', 'a negative version'),
  ('{"aggregateversion": "1"}', 'a version that is a text'),
  ('{"aggregateversion": 1.5}', 'a broken version'),
  ('{"aggregateversion": 1.0}', 'a version that is no plain integer'),
  ('{"aggregateversion": 9223372036854775808}', 'a version beyond bigint'),
  ('{"graphroot": "G", "graphrevision": true}', 'a revision that is no number'),
  ('{"aggregatetype": "a:b"}', 'a colon in an aggregate type')
) m (changes, description);
select throws_ok($$select pg_temp.append('t9', convert_to(replace(convert_from(
  pg_temp.member('t9', 1, 0), 'UTF8'), '"transactioncount": 1', '"transactioncount": 1e0'),
  'UTF8'))$$, 'RP002', null, 'a count that is no plain integer');

-- D13: what a refusal says
create function pg_temp.said(statement text) returns text language plpgsql as $$
declare
  v_message text;
  v_detail text;
  v_hint text;
  v_context text;
begin
  execute statement;
  return 'nothing';
exception when others then
  get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail,
    v_hint = pg_exception_hint, v_context = pg_exception_context;
  return concat_ws(' ', v_message, v_detail, v_hint, v_context);
end;
$$;
select unalike(pg_temp.said(format($$select pg_temp.append('t9', %L::bytea)$$, payload)), '%4711%',
  'D13: no value is quoted of ' || description)
from (values
  ('{"secret": 4711'::bytea, 'what does not parse'),
  (convert_to('{"secret": "4711\u0000"}', 'UTF8'), 'what jsonb cannot hold'),
  (pg_temp.member('t9', 1, 0, '{"host": "4711"}'), 'a malformed attribute'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"aggregateversion": "x4711"}'), 'a malformed version'),
  (pg_temp.member('t9', 1, 0, '{"type": "Stepped", "data": {"secret": 4711}}'), 'missing evidence'),
  (pg_temp.member('t9', 1, 0, '{"data": 4711}'), 'data of another kind')
) m (payload, description);
select is(pg_temp.said(
  $$select pg_temp.append('t9', pg_temp.member('t9', 1, 0, '{"host": "4711"}'))$$)
  ~ '"ordinal": 0' , true, 'but the place is named');

-- One complete transaction
select throws_ok(statement, 'RP003', null, description)
from (values
  ($$select pg_temp.append('t9', pg_temp.member('t9', 2, 0))$$, 'a member is missing'),
  ($$select pg_temp.append('t9', pg_temp.member('t9', 1, 0), pg_temp.member('t9', 1, 1))$$,
    'one is too many'),
  ($$select pg_temp.append('t9', pg_temp.member('t9', 2, 1), pg_temp.member('t9', 2, 0))$$,
    'ordinals are out of order'),
  ($$select pg_temp.append('t9', pg_temp.member('t9', 2, 0), pg_temp.member('t9', 2, 0))$$,
    'an ordinal stands twice'),
  ($$select pg_temp.append('t9', pg_temp.member('t8', 1, 0))$$, 'another transaction id'),
  ($$select pg_temp.append('t9', pg_temp.member('t9', 1, 0,
    '{"host": "00000000-0000-4000-8000-000000000002"}'))$$, 'I15: another host')
) m (statement, description);

-- Bounds
select throws_ok($$select pg_temp.append('t9', variadic array(
  select pg_temp.member('t9', 1001, o) from generate_series(0, 1000) o))$$, 'RP004', null,
  'more than 1,000 members');
select throws_ok($$select pg_temp.append('t9', variadic array(
  select pg_temp.step('t9', 65, o, 'S' || o, 1) from generate_series(0, 64) o))$$, 'RP004', null,
  'more than 64 scopes');
select throws_ok($$select pg_temp.append('t9', pg_temp.member('t9', 1, 0,
  jsonb_build_object('data', jsonb_build_object('a', repeat('x', 4194304)))))$$, 'RP004', null,
  'more than 4 MiB in an event');
select throws_ok($$select pg_temp.append('t9', variadic array(select pg_temp.member('t9', 5, o,
  jsonb_build_object('data', jsonb_build_object('a', repeat('x', 3500000))))
  from generate_series(0, 4) o))$$, 'RP004', null, 'more than 16 MiB in all');
select lives_ok($$select pg_temp.append('big', variadic array(
  select pg_temp.step('big', 1000, o, 'S' || o % 64, o / 64 + 1) from generate_series(0, 999) o))$$,
  '1,000 members in 64 scopes are well');
select throws_ok($$select replay.append_transaction('00000000-0000-4000-8000-000000000001', 't9',
  null, 'x')$$, 'RP001', null, 'no events at all');
select throws_ok($$select pg_temp.append('t9', null::bytea)$$, 'RP001', null,
  'an event that is null');

-- Ordering evidence
select throws_ok(format($$select pg_temp.append('t9', %L::bytea)$$, payload), 'RP005', null,
  description)
from (values
  (pg_temp.member('t9', 1, 0, '{"type": "Stepped"}'), 'none where an aggregate is asked for'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"subject": null}'), 'an aggregate without its id'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"aggregateversion": null}'), 'or without its version'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"aggregatetype": null}'), 'or without its type'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"graphroot": "G"}'), 'a root without its revision'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"graphroot": "G", "graphrevision": 1}'),
    'a graph where only an aggregate is asked for'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"type": "Changed"}'),
    'an aggregate where a graph is asked for'),
  (pg_temp.change('t9', 1, 0, 'N', 1, '{"aggregateversion": 1}'), 'a graph with half an aggregate'),
  (pg_temp.step('t9', 1, 0, 'N', 1, '{"type": "Noted"}'), 'any where none is asked for'),
  (pg_temp.change('t9', 1, 0, 'N', 1, '{"type": "Sent"}'), 'any on what is not replayable')
) m (payload, description);
select throws_ok(statement, 'RP005', null, description)
from (values
  ($$select pg_temp.append('t9', pg_temp.step('t9', 2, 0, 'N', 1),
    pg_temp.step('t9', 2, 1, 'N', 3))$$,
    'a gap'),
  ($$select pg_temp.append('t9', pg_temp.step('t9', 2, 0, 'N', 1),
    pg_temp.step('t9', 2, 1, 'N', 1))$$,
    'one version for two members'),
  ($$select pg_temp.append('t9', pg_temp.step('t9', 2, 0, 'N', 2),
    pg_temp.step('t9', 2, 1, 'N', 1))$$,
    'versions against the order of the ordinals'),
  ($$select pg_temp.append('t9', pg_temp.change('t9', 2, 0, 'N', 1),
    pg_temp.change('t9', 2, 1, 'N', 3))$$, 'a gap between revisions'),
  ($$select pg_temp.append('t9', pg_temp.step('t9', 2, 0, 'N', 1),
    pg_temp.member('t9', 2, 1, '{"type": "Sent"}'))$$,
    'D2: an ordered member beside one that is NOT_REPLAYABLE'),
  ($$select pg_temp.append('t9', pg_temp.step('t9', 2, 0, 'N', 1),
    pg_temp.member('t9', 2, 1, '{"type": "Mailed"}'))$$,
    'D2: nor beside one whose side effects exclude it from replay')
) m (statement, description);

-- The registry
select throws_ok($$select pg_temp.append('t9', pg_temp.member('t9', 1, 0, '{"type": "Else"}'))$$,
  'RP006', null, 'an unknown type');
select throws_ok(
  $$select pg_temp.append('t9', pg_temp.member('t9', 1, 0, '{"eventschema": "2"}'))$$, 'RP006',
  null, 'an unknown schema of a known type');
select throws_ok($$select pg_temp.append('t9', pg_temp.member('t9', 1, 0, '{"data": [1]}'))$$,
  'RP008', null, 'structural data has to be an object');
select throws_ok($$select replay.append_transaction('00000000-0000-4000-8000-000000000001', 't9',
  array[pg_temp.member('t9', 1, 0)], '\x00')$$, 'RP205', null,
  'a digest that is not the current one');

-- Ids, streams, failures
select throws_ok($$select pg_temp.append('t9', pg_temp.member('t9', 1, 0, '{"id": "t1/0"}'))$$,
  'RP202', null, 'an event id of another transaction');
select throws_ok($$select pg_temp.append('t9', pg_temp.member('t9', 2, 0),
  pg_temp.member('t9', 2, 1, '{"id": "t9/0"}'))$$, 'RP202', null, 'one id for two events');
select throws_ok($$select pg_temp.append('t9', pg_temp.step('t9', 1, 0, 'A', 5))$$,
  'RP203', null, 'a version that is ahead');
select throws_ok($$select pg_temp.append('t9', pg_temp.step('t9', 1, 0, 'A', 3))$$,
  'RP203', null, 'a version that is taken');
select throws_ok($$select pg_temp.append('t9', pg_temp.step('t9', 1, 0, 'New', 2))$$,
  'RP203', null, 'a stream starts at 1');
select alike(pg_temp.said($$select pg_temp.append('t9', pg_temp.step('t9', 2, 0, 'Z', 1),
  pg_temp.step('t9', 2, 1, 'A', 7))$$),
  '%{"found": 7, "expected": 4, "scope_key": "Case:A", "scope_type": "AGGREGATE", %"t9"}%',
  'the refusal names scope, expected, found and transaction');
select is_empty($$select from replay.transaction where transaction_id = 't9'$$,
  'I4: of what was refused nothing is stored');
select is_empty(
  $$select from replay.stream_head where scope_key in ('Case:N', 'Case:Z', 'Case:New')$$,
  'and no stream has moved');

set constraints all immediate;
select results_eq(
  $$select source_offset from replay.outbox order by source_offset$$,
  $$select generate_series(1, count(*)) from replay.transaction$$,
  'each has an offset, without gaps');
select results_eq(
  $$select transaction_id from replay.outbox order by source_offset$$,
  $$values ('t1'), ('t2'), ('t3'), ('t4'), ('t5'), ('t6'), ('t7'), ('t8'), ('big')$$,
  'in the order of the appends');
select is_empty('select from replay.outbox_pending', 'and none is left in the line');

-- An open failure
select replay.register_projection('cases'), replay.start_projection('cases'),
  replay.capture_failure('cases', 'default', '00000000-0000-4000-8000-000000000001', 't1',
    '{"error_code": "BadCase"}')
\g /dev/null
select throws_ok($$select pg_temp.append('t9', pg_temp.step('t9', 1, 0, 'A', 4))$$,
  'RP204', null, 'an open failure blocks its aggregate');
select is(pg_temp.said($$select pg_temp.append('t9', pg_temp.step('t9', 1, 0, 'A', 4))$$)
    ~ (select '"failure_id": "' || f.failure_id || '"' from replay.failure f), true,
  'and is named');
select throws_ok($$select pg_temp.append('t9', pg_temp.step('t9', 2, 0, 'F', 1),
  pg_temp.step('t9', 2, 1, 'A', 4))$$, 'RP204', null, 'beside a free one, too');
select lives_ok($$select pg_temp.append('t10', pg_temp.step('t10', 1, 0, 'F', 1))$$,
  'I12: other aggregates go on');
select lives_ok($$select pg_temp.append('t11', pg_temp.step('t11', 1, 0, 'A', 1,
  '{"host": "00000000-0000-4000-8000-000000000001", "aggregatetype": "Other"}'))$$,
  'so does an aggregate of another type with that id');
select is((pg_temp.append('t4', pg_temp.step('t4', 2, 0, 'A', 3), pg_temp.member('t4', 2, 1)))
  .member_count, 2, 'D9: what was appended before the failure is answered all the same');
select throws_ok($$select pg_temp.append('t4', pg_temp.step('t4', 1, 0, 'A', 3))$$,
  'RP201', null, 'D9: with other bytes it is a conflict, not blocked');

-- A handler
select count(*) from replay.claim_batch('cases')
\g /dev/null
select throws_ok($$select pg_temp.append('t12', pg_temp.member('t12', 1, 0))$$,
  'RP013', null, 'a transaction that holds a batch appends nothing');

-- Rows that never change
select throws_ok(format('%s replay.%I %s', verb, name, rest), 'RP216', null,
  format('I2, I18: nobody can %s %s', verb, name))
from unnest('{registry,registry_entry,transaction,event,outbox,audit}'::text[]) t (name)
cross join (values ('delete from', ''), ('truncate', 'cascade')) v (verb, rest);
select throws_ok($$update replay.event set event_id = event_id$$, 'RP216', null,
  'nor update them, not even to what they are');

select * from finish();
rollback;
