begin;
\ir lib/fixtures.psql
select plan(6);

create function pg_temp.trial(p_verb text, p_transaction_ids text[]) returns void
language plpgsql as $$
begin
  execute format('select replay.%I($1, $2, $3, $4)', p_verb || '_trial')
  using 'cases', 'default', array_fill(fixture.host(), array[cardinality(p_transaction_ids)]),
    p_transaction_ids;
end;
$$;
create function pg_temp.crashes() returns text[] language sql
  return array(
    select t.transaction_id || ' ' || t.crash_count from replay.trial t order by t.transaction_id);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}'), fixture.append('t3', '{c@1}')
\g /dev/null
select pg_temp.trial('begin', '{t1,t2,t3}'), pg_temp.trial('begin', '{t1}')
\g /dev/null
select pg_temp.trial('end', '{t2,t1}')
\g /dev/null
select is(pg_temp.crashes(), '{t1 1,t3 1}'::text[], 'one is taken back of each that is named');
select pg_temp.trial('end', '{t1,t2}')
\g /dev/null
select is(pg_temp.crashes(), '{t3 1}'::text[],
  'what its successor has ended meanwhile is passed over');
select replay.register_projection('others'), replay.start_projection('others')
\g /dev/null
select replay.end_trial('others', 'default', array[fixture.host()], '{t3}')
\g /dev/null
select is(pg_temp.crashes(), '{t3 1}'::text[], 'another projection is another matter');

select throws_ok($$select replay.end_trial('nobody', 'default', '{}', '{}')$$, 'RP101', null,
  'the projection must be registered');
select replay.register_projection('idle')
\g /dev/null
select throws_ok($$select replay.end_trial('idle', 'default', '{}', '{}')$$, 'RP213', null,
  'and started');
select lives_ok($$select replay.end_trial('cases', 'default', '{}', '{}')$$,
  'nothing can be taken back as well');

select * from finish();
rollback;
