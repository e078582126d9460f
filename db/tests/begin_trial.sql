begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(15);

create function pg_temp.begin_trial(variadic p_transaction_ids text[]) returns void language sql
begin atomic
  select replay.begin_trial('cases', 'default',
    array_fill(fixture.host(), array[cardinality(p_transaction_ids)]), p_transaction_ids);
end;
create function pg_temp.crashes() returns text[] language sql
  return array(
    select t.transaction_id || ' ' || t.crash_count from replay.trial t order by t.transaction_id);
create function pg_temp.claim(p_limit int) returns text[] language sql
  return array(
    select b.transaction_id || ' ' || b.crash_count
    from replay.claim_batch('cases', p_limit => p_limit) b);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}'), fixture.append('t3', '{c@1}'),
  fixture.append('t4', '{b@2}')
\g /dev/null
select pg_temp.begin_trial('t2', 't1', 'unheard of')
\g /dev/null
select is(pg_temp.crashes(), '{t1 1,t2 1}'::text[], 'what was appended is marked, nothing else');
select pg_temp.begin_trial('t2')
\g /dev/null
select is(pg_temp.crashes(), '{t1 1,t2 2}'::text[], 'once more each time');
select replay.register_projection('others'), replay.start_projection('others')
\g /dev/null
select replay.begin_trial('others', 'default', array[fixture.host()], '{t2}')
\g /dev/null
select is(
  array(select crash_count from replay.trial where transaction_id = 't2' order by 1),
  '{1,2}'::int[], 'by each projection on its own');

-- What it is for
select is(pg_temp.claim(3), '{t1 1,t2 2,t3 0}'::text[],
  'a batch tells of each how often it crashed');
select fixture.complete('t2')
\g /dev/null
select is(
  array(select transaction_id || ' ' || crash_count from replay.trial), '{t2 1}'::text[],
  'a completed batch forgets its marks, of what failed too, and no other''s');
select fixture.process()
\g /dev/null
select is(
  (select error_code from replay.failure where transaction_id = 't2'), 'BadCase',
  'what fails in the end is no crash');

-- Alone
select fixture.append('u1', '{}'), fixture.append('u2', '{}'), fixture.append('u3', '{}')
\g /dev/null
select pg_temp.begin_trial('u2'), pg_temp.begin_trial('u2')
\g /dev/null
select is(fixture.claim(), '{u1 APPLY,u2 APPLY,u3 APPLY}'::text[], 'after two it has company');
-- An outcome up to u1 only: the rest is read again.
select replay.complete_batch(pg_current_xact_id(), p_upto => 1)
\g /dev/null
select is(
  array(select transaction_id from replay.trial t where t.crash_count > 1), '{}'::text[],
  'what is behind the end of an outcome has not crashed either');
select pg_temp.begin_trial('u2'), pg_temp.begin_trial('u2'), pg_temp.begin_trial('u2')
\g /dev/null
select is(pg_temp.claim(1), '{u2 3}'::text[],
  'after three it is the next of its lane still, and says so');
select fixture.complete()
\g /dev/null
select fixture.append('u4', '{}')
\g /dev/null
select pg_temp.begin_trial('u4'), pg_temp.begin_trial('u4'), pg_temp.begin_trial('u4')
\g /dev/null
select is(fixture.claim(), '{u3 APPLY}'::text[], 'a batch is cut before it');
select fixture.complete()
\g /dev/null
select fixture.append('u5', '{}')
\g /dev/null
select is(fixture.claim(), '{u4 APPLY}'::text[], 'and it is a batch of its own');
select fixture.complete(), fixture.process()
\g /dev/null

-- Woken
select fixture.intended('{t2}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select pg_temp.begin_trial('t4'), pg_temp.begin_trial('t4'), pg_temp.begin_trial('t4')
\g /dev/null
select fixture.append('u6', '{}')
\g /dev/null
select is(fixture.claim(), '{t4 APPLY}'::text[], 'so is what was deferred');
select fixture.complete()
\g /dev/null

select throws_ok($$select replay.begin_trial('nobody', 'default', '{}', '{}')$$, 'RP101', null,
  'the projection must be registered');
select replay.register_projection('idle')
\g /dev/null
select throws_ok($$select replay.begin_trial('idle', 'default', '{}', '{}')$$, 'RP213', null,
  'and started');
select lives_ok($$select replay.begin_trial('cases', 'default', '{}', '{}')$$,
  'nothing can be marked as well');

select * from finish();
rollback;
