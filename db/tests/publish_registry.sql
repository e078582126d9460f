begin;
set local client_min_messages = warning;
select plan(42);

-- One entry, and what the case changes.
create function pg_temp.entry(changes jsonb default '{}')
  returns jsonb
  language sql
  return jsonb_build_object('event_type', 'Opened', 'event_schema', '1',
    'policy', 'AGGREGATE_VERSION', 'repair_disposition', 'FIX_AND_EXACT_REPLAY_ONLY',
    'side_effects', 'NONE') || changes;
create function pg_temp.publish(variadic entries jsonb[])
  returns replay.registry
  language sql
  return replay.publish_registry(to_jsonb(entries));

select is((pg_temp.publish(pg_temp.entry())).registry_version, 1, 'the first version is 1');
select results_eq(
  'select registry_version, published_by from replay.registry', 'select 1, replay._actor()',
  'it says who published');
select is((pg_temp.publish(pg_temp.entry())).registry_version, 1,
  'the same entry again is the same version');
select is((pg_temp.publish(pg_temp.entry('{"data_schema": null}'))).registry_version, 1,
  'what is null is what is absent');
select is((pg_temp.publish(variadic '{}')).registry_version, 1, 'no entry changes nothing');
select is((pg_temp.publish(pg_temp.entry('{"event_type": "Closed"}'))).registry_version, 2,
  'another one makes the next version');
select results_eq(
  'select registry_version, event_type from replay.registry_entry order by 1, 2',
  $$values (1, 'Opened'), (2, 'Closed'), (2, 'Opened')$$,
  'which holds those of the version before; that one stays');
select is((pg_temp.publish(pg_temp.entry('{"event_schema": "2"}'))).registry_version, 3,
  'another schema of a type is another entry');
select is((pg_temp.publish(pg_temp.entry('{"data_schema": "{\"type\": \"object\"}"}')))
  .registry_version, 4, 'a change of an entry makes a version');
select is(
  (select count(*) from replay.registry_entry e where e.registry_version = 4), 3::bigint,
  'in which it replaces the one before');
select is((replay.publish_registry('[]', '[{"event_type": "Closed", "event_schema": "1"}]'))
  .registry_version, 5, 'an entry that nothing uses can be removed');
select is((replay.publish_registry('[]', '[{"event_type": "Closed", "event_schema": "1"}]'))
  .registry_version, 5, 'once');
select is((pg_temp.publish(pg_temp.entry('{"event_type": "Closed"}'))).registry_version, 6,
  'a version with the content of an older one is a version of its own');
select is((select count(distinct r.digest) from replay.registry r), 6::bigint,
  'with a digest of its own');
select results_eq(
  $$select r.digest from replay.registry r order by r.registry_version$$,
  $$select replay._registry_digest(e.registry_version, array_agg(e order by random()))
    from replay.registry_entry e group by e.registry_version order by e.registry_version$$,
  'the digest does not depend on the order of the entries');
select is(replay._registry_digest(1, array[row(1, 'A', '1', 'GRAPH_ROOT', null,
    'FIX_AND_EXACT_REPLAY_ONLY', null, 'NONE')]::replay.registry_entry[]),
  sha256('\x00000014'::bytea || 'pyreplay.registry.v1' || '\x00000001'::bytea || '\x00000001'::bytea
    || '\x00000001'::bytea || 'A' || '\x00000001'::bytea || '1' || '\x0000000a'::bytea
    || 'GRAPH_ROOT' || '\xffffffff'::bytea || '\x00000019'::bytea || 'FIX_AND_EXACT_REPLAY_ONLY'
    || '\xffffffff'::bytea || '\x00000004'::bytea || 'NONE'), 'and is what its comment says');

select throws_ok(format('select pg_temp.publish(%L)', pg_temp.entry(changes)), 'RP007', null,
  description)
from (values
  ('{"event_type": null}'::jsonb, 'no event type'),
  ('{"event_type": ""}', 'an empty one'),
  ('{"event_schema": 1}', 'an event schema that is no text'),
  ('{"policy": "NONE"}', 'an unknown policy'),
  ('{"policy": null}', 'no policy'),
  ('{"side_effects": "MAIL"}', 'unknown side effects'),
  ('{"repair_disposition": "MAYBE"}', 'an unknown repair disposition'),
  ('{"polcy": "GRAPH_ROOT"}', 'an unknown key'),
  ('{"data_schema": {"type": "object"}}', 'a schema that is no text'),
  ('{"data_schema": "{"}', 'a schema that is no JSON'),
  ('{"data_schema": "[]"}', 'a schema that is no object'),
  ('{"repair_disposition": "NOT_REPAIRABLE_UNORDERED"}', 'an ordered type that cannot be repaired'),
  ('{"policy": "GRAPH_ROOT", "side_effects": "REPLAY_EXCLUDED"}', 'or not be replayed'),
  ('{"repair_disposition": "SCHEMA_REPAIR", "repair_schema_version": "1"}',
    'SCHEMA_REPAIR on a structural schema'),
  ('{"repair_disposition": "SCHEMA_REPAIR", "data_schema": "{}"}',
    'SCHEMA_REPAIR without its schema'),
  ('{"repair_schema_version": "1"}', 'a repair schema without SCHEMA_REPAIR')
) c (changes, description);
select throws_ok($$select replay.publish_registry('{}')$$, 'RP007', null, 'no array');
select throws_ok('select replay.publish_registry(null)', 'RP007', null, 'nothing');
select throws_ok($$select replay.publish_registry('[7]')$$, 'RP007', null,
  'an entry that is no object');
select throws_ok('select pg_temp.publish(pg_temp.entry(), pg_temp.entry())', 'RP007', null,
  'one entry twice');
select throws_ok($$select replay.publish_registry('[]', '[{"event_type": "Opened"}]')$$, 'RP007',
  null,  'a removal that names no schema');
select throws_ok($$select replay.publish_registry(jsonb_build_array(pg_temp.entry()),
  '[{"event_type": "Opened", "event_schema": "1"}]')$$, 'RP007', null, 'one entry in both');
select is((select max(r.registry_version) from replay.registry r), 6,
  'of what was refused nothing is published');

select replay.append_transaction('00000000-0000-4000-8000-000000000001', 't1', array[convert_to(
  '{"specversion": "1.0", "id": "1", "source": "urn:test", "type": "Closed", "subject": "A",
    "host": "00000000-0000-4000-8000-000000000001", "transactionid": "t1", "transactioncount": 1,
    "transactionordinal": 0, "eventschema": "1", "aggregatetype": "Case", "aggregateversion": 1,
    "data": {}}', 'UTF8')],
  (select r.digest from replay.registry r order by r.registry_version desc limit 1))
\g /dev/null
select throws_ok(
  $$select replay.publish_registry('[]', '[{"event_type": "Closed", "event_schema": "1"}]')$$,
  'RP206', null, 'an entry that a stored event pins stays');
select is((pg_temp.publish(pg_temp.entry('{"event_type": "Closed", "data_schema": "{}"}')))
  .registry_version, 7, 'replacing it is well: the event is read under its own version');
select results_eq(
  $$select action, actor, detail ->> 'registry_version' from replay.audit order by audit_id$$,
  $$select 'REGISTRY_PUBLISHED', replay._actor(), generate_series(1, 7)::text$$,
  'I18: each version is in the audit');
select * from finish();
rollback;
