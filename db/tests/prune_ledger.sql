begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(17);

select fixture.append('n1', '{}'), fixture.append('a1', '{a@1}'), fixture.append('n2', '{}')
\g /dev/null
select fixture.process(), fixture.pass('10 days')
\g /dev/null
select fixture.append('n3', '{}')
\g /dev/null

-- The ledger
select is(replay.prune_ledger('cases', 'default', fixture.host(), '30 days'), 0::bigint,
  'what is younger stays');
select is(replay.prune_ledger('cases', 'default', fixture.host(), '5 days', 1), 1::bigint,
  'as many at a time as it was told');
select is(replay.prune_ledger('cases', 'default', fixture.host(), '5 days'), 1::bigint,
  'and the rest');
select is((select count(*) from replay.ledger l), 0::bigint, 'the ledger is empty');
select is((select p.ledger_bound from replay.position p
    where p.projection_id = replay._projection_id('cases', 'default')), 3::bigint,
  'behind a bound');
select fixture.rewind()
\g /dev/null
select is(fixture.process(), '{n1 CONFLICT,a1 STALE,n2 CONFLICT,n3 APPLY}'::text[],
  'D17: redelivered from before it, nothing is applied twice');
select results_eq('select transaction_id, kind from replay.evidence order by source_offset',
  $$values ('n1', 'BEFORE_LEDGER'), ('n2', 'BEFORE_LEDGER')$$, 'D17: it is evidence');
select throws_ok(format('select replay.prune_ledger(''none'', ''default'', %L, ''1 day'')',
  fixture.host()), 'RP101', null, 'of a projection that is registered');

-- The outbox
select throws_ok('delete from replay.outbox', 'RP216', null, 'nothing else removes its rows');
select replay.register_projection('late')
\g /dev/null
select is(replay.prune_outbox(fixture.host(), '5 days'), 0::bigint,
  'I1: what a projection has not read stays');
select replay.start_projection('late', p_at => 'NOW')
\g /dev/null
select is(replay.prune_outbox(fixture.host(), '5 days', 2), 2::bigint,
  'what all have read goes, as many at a time as it was told');
select is(replay.prune_outbox(fixture.host(), '5 days'), 1::bigint, 'and the rest of what is old');
select results_eq('select transaction_id from replay.outbox', $$values ('n3')$$,
  'what is younger stays');
select is((select count(*) from replay.event e), 4::bigint, 'events stay');
select replay.register_projection('later')
\g /dev/null
select throws_ok($$select replay.start_projection('later')$$, 'RP227', null,
  'no projection starts at a beginning that is gone');
select lives_ok($$select replay.start_projection('later', p_at => 'NOW')$$, 'but NOW');
select fixture.append('a2', '{a@2}')
\g /dev/null
select is(fixture.process(), '{a2 APPLY}'::text[], 'and all goes on');

select * from finish();
rollback;
