begin;
\ir lib/fixtures.psql
select plan(11);

select results_eq(
  $$select projection, consumer_group, status, start_at, registered_at, registered_by
    from replay.register_projection('late')$$,
  $$select 'late', 'default', 'REGISTERED', null::text, replay._now(),
    current_setting('session_authorization')$$,
  'a new projection is REGISTERED, by whom and when');
select fixture.pass('1 minute')
\g /dev/null
select results_eq(
  $$select * from replay.register_projection('late')$$,
  $$select * from replay.projection where projection = 'late'$$,
  'one that is known is returned as it is');
select is(
  (select count(*) from replay.audit a
    where a.action = 'PROJECTION_REGISTERED'
      and a.projection_id = replay._projection_id('late', 'default')), 1::bigint,
  'and audited once');
select isnt(
  (replay.register_projection('late', 'other')).projection_id,
  replay._projection_id('late', 'default'), 'another consumer group is another projection');
select is(
  (replay.register_projection('cases')).status, 'RUNNING', 'registering again stops nothing');
select is(
  (replay.register_projection(repeat('x', 100))).projection, repeat('x', 100),
  'a name has up to 100 characters');

select throws_ok($$select replay.register_projection(repeat('x', 101))$$, 'RP001', null,
  'and no more');
select throws_ok($$select replay.register_projection('')$$, 'RP001', null, 'a name is not empty');
select throws_ok($$select replay.register_projection(null)$$, 'RP001', null, 'nor null');
select throws_ok($$select replay.register_projection('two words')$$, 'RP001', null,
  'nor in need of quotes');
select throws_ok($$select replay.register_projection('late', E'a\nb')$$, 'RP001', null,
  'nor is a consumer group');

select * from finish();
rollback;
