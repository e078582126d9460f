begin;
\ir lib/fixtures.psql
select plan(15);

create role fixture_guest login;
grant replay_reader, replay_operator to fixture_guest;
create function pg_temp.other() returns uuid language sql immutable
  return '22222222-2222-4222-8222-222222222222'::uuid;
create function pg_temp.listed(p_user text, p_host_id uuid default fixture.host()) returns text
language sql as $$
  select coalesce(fixture.refusal(p_user,
    format('select count(*) from replay.list_failures(%L)', p_host_id)) ->> 'code', 'listed');
$$;

select fixture.append('t1', '{a@1}')
\g /dev/null
select fixture.project('{t1}')
\g /dev/null
select is(pg_temp.listed('fixture_guest'), 'RP401', 'I15: who is no member is refused');
select is(pg_temp.listed('fixture_guest', gen_random_uuid()), 'RP401',
  'I15: of a host that is not there alike');
select is(fixture.call('fixture_guest', 'select count(*) from replay.open_failure') ->> 'count',
  '0', 'I15: and is shown nothing');
select replay.add_member('fixture_guest', fixture.host()),
  replay.add_member('fixture_guest', fixture.host())
\g /dev/null
select is(pg_temp.listed('fixture_guest'), 'listed', 'a member is not');
select is(pg_temp.listed('fixture_guest', pg_temp.other()), 'RP401', 'but elsewhere');
select is(fixture.call('fixture_guest', 'select count(*) from replay.open_failure') ->> 'count',
  '1', 'and is shown what is there');
select is(fixture.refusal('fixture_guest', 'select replay.add_member(''x'')') ->> 'code', '42501',
  'members make no members');
select replay.remove_member('fixture_guest', fixture.host()), replay.add_member('fixture_guest')
\g /dev/null
select is(pg_temp.listed('fixture_guest', pg_temp.other()), 'listed',
  'a member of every host is one of each');
select is((select array_agg(a.action order by a.audit_id) from replay.audit a
    where a.detail ->> 'member' = 'fixture_guest'),
  '{MEMBER_ADDED,MEMBER_REMOVED,MEMBER_ADDED}'::text[], 'I18: each change is told');

-- A gateway acts for others
select is(fixture.refusal('fixture_guest', format('select replay.assert_actor(''alice'', %L)',
  fixture.host())) ->> 'code', '42501', 'who is no gateway asserts nobody');
select set_config('replay.actor', 'alice', false)
\g /dev/null
select is(pg_temp.listed('fixture_guest'), 'RP402', 'nor forges the setting');
select set_config('replay.actor', '', false)
\g /dev/null
grant replay_gateway to fixture_guest;
select throws_ok('select replay.assert_actor('''', null)', 'RP001', null, 'an actor has a name');
select replay.add_member('alice@example.org', fixture.host()),
  replay.assert_actor('alice@example.org', fixture.host())
\g /dev/null
select is((fixture.call('fixture_guest', 'select replay._actor() as actor')) ->> 'actor',
  'alice@example.org', 'a gateway acts for whom it asserts');
select is(pg_temp.listed('fixture_guest'), 'listed', 'as far as they are members');
select is(pg_temp.listed('fixture_guest', pg_temp.other()), 'RP401', 'for one host');

select * from finish();
rollback;
