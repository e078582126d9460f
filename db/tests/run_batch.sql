begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(13);

create schema app;
create table app.seen (host_id uuid, event_id text);
create function app.see(p_host_id uuid, p_event jsonb) returns text language plpgsql as $$
begin
  insert into app.seen values (p_host_id, p_event ->> 'id');
  perform 1 / (p_event ->> 'id' <> 'b2/1')::int;
  return null;
end;
$$;

create function pg_temp.handlers(variadic p_types text[]) returns jsonb language sql
  return (
    select jsonb_agg(jsonb_build_object('event_type', t, 'event_schema', '1',
      'function', case when t = 'Opened' then 'app.see' end))
    from unnest(p_types) t);
-- Run the next batch, complete it, and say how it went.
create function pg_temp.run(
  p_handlers jsonb, p_failures jsonb default '[]', p_first_only boolean default false
) returns replay.batch_outcome language plpgsql as $$
declare
  v_outcome replay.batch_outcome;
begin
  perform replay.claim_batch('cases', p_with_events => false);
  v_outcome := replay.run_batch(p_handlers, p_failures, p_first_only);
  if not p_first_only then
    perform replay.complete_batch(pg_current_xact_id(), v_outcome.failures, v_outcome.skipped);
  end if;
  return v_outcome;
end;
$$;

select is(replay.run_batch(pg_temp.handlers('Opened')),
  row('[]'::jsonb, '{}'::int[], null)::replay.batch_outcome,
  'without a batch in hand there is nothing to run');
select fixture.append('a1', '{a@1}'), fixture.append('b1', '{b@1}'), fixture.append('b2', '{b@2}'),
  fixture.append('b3', '{b@3}'), fixture.append('n1', '{}'), fixture.append('a2', '{a@2,c@1}')
\g /dev/null
savepoint replay;
create temp table run as
select * from pg_temp.run(pg_temp.handlers('Opened', 'Noted'), p_first_only => true);
select results_eq('select upto, skipped from run', $$values (3, '{}'::int[])$$,
  'I4: a replay runs up to the first that fails');
select results_eq($$select f ->> 'error_code', f ->> 'error_handler', f ->> 'ord' from run r
  cross join jsonb_array_elements(r.failures) f$$, $$values ('22012', 'app.see', '3')$$,
  'and names it, its handler and its error');
select results_eq('select event_id from app.seen', $$values ('a1/1'), ('b1/1')$$,
  'what stood before it has run');
select results_eq('select host_id from app.seen', $$values (fixture.host()), (fixture.host())$$,
  'for its host');
rollback to replay;

select is(
  (select o.failures -> 0 ->> 'error_code' from pg_temp.run(pg_temp.handlers('Opened', 'Noted')) o),
  '22012', 'a live batch goes on behind it');
select results_eq('select event_id from app.seen',
  $$values ('a1/1'), ('b1/1'), ('a2/1'), ('a2/2')$$,
  'I3: without what follows it, each member of the others once and in order');
select is(fixture.progress('Case:b'), 1::bigint, 'I3: its aggregate stands');
select is(fixture.progress('Case:a'), 2::bigint, 'all else flows');

select fixture.append('d1', '{d@1}'), fixture.append('n2', '{}')
\g /dev/null
select is(
  (select array_agg(f ->> 'error_code' order by (f ->> 'ord')::int)
    from pg_temp.run('[]') o cross join jsonb_array_elements(o.failures) f),
  '{HANDLER_MISSING,HANDLER_MISSING}'::text[], 'without handlers every event fails');
select fixture.append('e1', '{e@1}'), fixture.append('e2', '{e@2}'), fixture.append('f1', '{f@1}')
\g /dev/null
select is(
  (select o.skipped from pg_temp.run(pg_temp.handlers('Opened'),
    jsonb_build_array(fixture.error_report(1))) o), '{2}'::int[],
  'what is known to fail is not run, nor what follows it');
select is((select array_agg(event_id) from app.seen where event_id ~ '^[ef]'), '{f1/1}'::text[],
  'all else is');

select results_eq($$select b.transaction_id, b.event_types from (
    select fixture.append('g1', '{g@1}'), fixture.claim()) c
  cross join lateral replay.load_batch(pg_current_xact_id()) b$$,
  $$values ('g1', '{Opened}'::text[])$$, 'load_batch gives the events of the batch in hand');

select * from finish();
rollback;
