begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(21);

select fixture.append('n1', '{}'), fixture.append('n2', '{}'), fixture.append('n3', '{}')
\g /dev/null
select fixture.process('n1', 'n2', 'n3')
\g /dev/null
select f.failure_id as first from replay.failure f where f.transaction_id = 'n1'
\gset
select f.failure_id as second from replay.failure f where f.transaction_id = 'n2'
\gset
select is(c.failure_count, 3::bigint, 'what is captured is counted') from replay.capacity c;
select is(c.byte_count, (select sum(octet_length(m.payload)) from replay.failure_member m)::bigint,
  'in bytes of payload') from replay.capacity c;
create temp table original as
select m.failure_id, m.ordinal, m.event_id, m.digest from replay.failure_member m;

select fixture.intended('{n1,n2}'), fixture.claim_request(), fixture.begin_items(),
  fixture.load_items()
\g /dev/null
select fixture.complete_items(), fixture.settle_items(), fixture.pass('31 days')
\g /dev/null
select throws_ok(format('delete from replay.failure_member where failure_id = %L', :'first'),
  'RP216', null, 'I2: nothing but retention removes bytes');
select throws_ok(format('select replay.remove_payloads(%L, ''-1 day'')', fixture.host()), 'RP001',
  null, 'an age is no future');
select throws_ok(format('select replay.remove_payloads(%L, ''1 day'', 0)', fixture.host()),
  'RP001', null, 'a limit is one');

select hold_id as hold from replay.place_hold(fixture.host(), 'court order', :'first')
\gset
select throws_ok(format('select replay.place_hold(%L, ''r'', gen_random_uuid())', fixture.host()),
  'RP102', null, 'a hold is on a failure that is there');
select is((select s.failure_id from replay.standing_hold s), :'first'::uuid, 'a view shows it');
select is((replay.remove_payloads(fixture.host(), '32 days')).failure_count, 0::bigint,
  'what is younger stays');
select is((replay.remove_payloads(fixture.host(), '30 days')).failure_count, 1::bigint,
  'of what is older all but what is held');
select is_empty(format('select from replay.failure_member where failure_id = %L', :'second'),
  'the payloads are gone');
select set_eq(
  'select failure_id, ordinal, event_id, digest from replay.failure_member
    union all select failure_id, ordinal, event_id, digest from replay.removed_member',
  'select * from original', 'I2: the digests are not');
select is((select jsonb_path_query_first(d.members, '$[0].removed')
    from replay.get_failure(fixture.host(), :'second') d), 'true'::jsonb, 'a failure says so');
select isnt((select removed_at from replay.failure where failure_id = :'second'), null,
  'since when');
select is((select c.failure_count from replay.capacity c), 2::bigint, 'there is room again');

select replay.release_hold(fixture.host(), :'hold', 'over')
\g /dev/null
select throws_ok(format('select replay.release_hold(%L, %L, ''r'')', fixture.host(), :'hold'),
  'RP107', null, 'a hold is released once');
select hold_id as hold from replay.place_hold(fixture.host(), 'audit')
\gset
select is((replay.remove_payloads(fixture.host(), '30 days')).failure_count, 0::bigint,
  'a hold on the host holds all');
select replay.release_hold(fixture.host(), :'hold', 'over')
\g /dev/null
select is((replay.remove_payloads(fixture.host(), '0')).failure_count, 1::bigint,
  'released, they go');
select is((replay.remove_payloads(fixture.host(), '0')).failure_count, 0::bigint,
  'H4: an OPEN failure never does');
select is((select count(*) from replay.failure_member m), 1::bigint, 'H4: its bytes are there');
select throws_ok('update replay.removed_member set byte_count = 0', 'RP216', null,
  'what is left of them never changes');
select results_eq($$select action, count(*) from replay.audit
    where action ~ 'HOLD|PAYLOADS' group by 1 order by 1$$,
  $$values ('HOLD_PLACED', 2::bigint), ('HOLD_RELEASED', 2), ('PAYLOADS_REMOVED', 5)$$,
  'I18: each call is audited');

select * from finish();
rollback;
