-- The engine locks first and reads after, which a snapshot older than the lock would undo.
begin isolation level repeatable read;
select plan(16);

select replay.register_projection('cases')
\g /dev/null
select throws_ok(
  $$select replay.append_transaction(gen_random_uuid(), 't', '{}', '')$$, 'RP010', null,
  'append_transaction needs READ COMMITTED');
select throws_ok($$select replay.publish_registry('[]')$$, 'RP010', null, 'publish_registry too');
select throws_ok($$select replay.set_lanes(gen_random_uuid(), 1)$$, 'RP010', null, 'and set_lanes');
select throws_ok($$select replay.claim_batch('cases')$$, 'RP010', null, 'and claim_batch');
select throws_ok($$select replay.complete_batch('1')$$, 'RP010', null, 'and complete_batch');
select throws_ok(
  $$select replay.capture_failure('cases', 'default', gen_random_uuid(), 't',
    '{"error_code": "X"}')$$,
  'RP010', null, 'and capture_failure');
select throws_ok(
  format('select replay.%s_request(gen_random_uuid(), gen_random_uuid()%s)', v.verb, v.arguments),
  'RP010', null, 'and ' || v.verb || '_request')
from (values ('approve', $$, '', 'why'$$), ('execute', $$, '', 'why'$$), ('cancel', $$, 'why'$$),
  ('yield', ', 1')) v (verb, arguments);
select throws_ok(
  format('select replay.%s_items(gen_random_uuid(), gen_random_uuid(), 1%s)', v.verb, v.arguments),
  'RP010', null, 'and ' || v.verb || '_items')
from (values ('begin', ''), ('load', ''), ('complete', $$, '1'$$), ('roll_back', ''), ('settle',
  ''))
  v (verb, arguments);
select throws_ok(
  $$select replay.claim_request(gen_random_uuid(), gen_random_uuid(), '')$$, 'RP010', null,
  'and claim_request');

select * from finish();
rollback;
