begin;
set local client_min_messages = warning;
select plan(6);

select is_empty('select * from replay.get_registry()', 'nothing is published yet');
select replay.publish_registry('[
  {"event_type": "b", "event_schema": "1", "policy": "TRANSACTION_ONLY",
    "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY", "side_effects": "NONE"},
  {"event_type": "B", "event_schema": "1", "policy": "TRANSACTION_ONLY",
    "data_schema": "{ \"type\":\"object\"}", "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY",
    "side_effects": "NONE"}]')
\g /dev/null
select results_eq(
  'select registry_version, event_type, data_schema from replay.get_registry()',
  $$values (1, 'B', '{ "type":"object"}'), (1, 'b', null)$$,
  'entries come in byte order, schemas as they were published');
select replay.publish_registry('[{"event_type": "a", "event_schema": "2", "policy": "GRAPH_ROOT",
  "repair_disposition": "FIX_AND_EXACT_REPLAY_ONLY", "side_effects": "NONE"}]')
\g /dev/null
select results_eq(
  'select registry_version, event_type, event_schema from replay.get_registry()',
  $$values (2, 'B', '1'), (2, 'a', '2'), (2, 'b', '1')$$,
  'only those of the current version');
select ok(has_function_privilege(role, 'replay.get_registry()', 'execute'), role || ' may call it')
from unnest('{replay_reader,replay_appender,replay_processor}'::text[]) r (role);

select * from finish();
rollback;
