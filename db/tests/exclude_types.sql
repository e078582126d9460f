begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(17);

select fixture.append('n1', '{}'), fixture.append('n2', '{}')
\g /dev/null
select fixture.process('n1')
\g /dev/null
select fixture.approved('{n1}') as request
\gset
create function pg_temp.planned() returns text language sql as $$
  select fixture.refusal('fixture_operator', format('select * from replay.create_request(%L,
    ''cases'', p_reason => ''r'', p_failure_ids => array(select failure_id
      from replay.open_failure))', fixture.host())) ->> 'code'; $$;

select throws_ok($$select replay.exclude_types('{Opened}', 'r')$$, 'RP226', null,
  'an ordered type is never excluded');
select throws_ok($$select replay.exclude_types('{Nothing}', 'r')$$, 'RP226', null,
  'nor an unknown one');
select throws_ok($$select replay.exclude_types('{Note%}', 'r')$$, 'RP226', null, 'nor a pattern');
select throws_ok($$select replay.exclude_types('{Noted}', '')$$, 'RP001', null,
  'nor without a reason');
select is(pg_temp.planned(), null, 'its failure can be planned');
select is((replay.exclude_types('{Noted,Noted}', 'sends letters')).excluded_event_types,
  '{Noted}'::text[], 'until it is excluded');
select is(pg_temp.planned(), 'RP011', 'then it cannot');
select is((select s.generation from replay.setting s), 2, 'a generation of the settings');
select isnt((select s.digest from replay.setting s),
  (select c.digest from replay.config c where c.generation = 1), 'with a digest of its own');
select is((replay.exclude_types('{Noted}', 'again')).generation, 2, 'nothing new is none');
select fixture.append('n3', '{}'), fixture.append('n4', '{}')
\g /dev/null
select is(fixture.claim(), '{n3 APPLY}'::text[], 'its transactions are a batch of their own');
select fixture.complete('n3')
\g /dev/null
select is((select count(*) from replay.open_failure o), 2::bigint, 'capture goes on');
select fixture.append('m1', '{b@1,""}')
\g /dev/null
select throws_ok(
  $$select replay.exclude_types('{}', 'lifted'), replay.exclude_types('{Noted}', 'r')$$, 'RP226', null,
  'nor what an ordered transaction holds that is not read yet');
select fixture.process('m1')
\g /dev/null
select is((select count(*) from replay.open_failure o where o.transaction_id = 'm1'), 1::bigint,
  'its failure is kept');
select is((replay.exclude_types('{}', 'lifted')).excluded_event_types, '{}'::text[], 'lifted');
select is(pg_temp.planned(), null, 'it can be planned again');
select is((select array_agg(a.action order by a.audit_id) from replay.audit a
    where a.action = 'TYPES_EXCLUDED'), '{TYPES_EXCLUDED,TYPES_EXCLUDED}'::text[], 'and told');

select * from finish();
rollback;
