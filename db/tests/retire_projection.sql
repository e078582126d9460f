begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(15);

select fixture.append('a1', '{a@1}'), fixture.append('a2', '{a@2}')
\g /dev/null
select fixture.process('a1'), fixture.approved('{a1}') as request
\gset
create function pg_temp.retiring(p_action_id text default null, p_impact text default null)
returns text language sql as $$
  select format('select w.* from replay.retire_projection(''cases'', p_reason => ''replaced'',
    p_action_id => %L, p_impact => %L) w', p_action_id, p_impact);
$$;

select throws_ok(pg_temp.retiring(), 'RP213', null, 'a running projection is not retired');
select throws_ok($$select fixture.append('a3', '{a@3}')$$, 'RP204', null,
  'its failure blocks its aggregate');
select replay.pause_projection('cases', p_reason => 'to be retired')
\g /dev/null
select is((select h.pause_reason from replay.health h where h.projection = 'cases'),
  'to be retired', 'health says why it is paused');
select fixture.call('fixture_operator', pg_temp.retiring()) as asked
\gset
select is(:'asked'::jsonb ->> 'status', 'AWAITING_APPROVAL', 'the first call asks');
select is(:'asked'::jsonb #>> '{impact,open_failure_count}', '1', 'shows its failures');
select is(:'asked'::jsonb #>> '{impact,deferred_count}', '1', 'what is deferred');
select is(:'asked'::jsonb #>> '{impact,cancelled_request_ids,0}', :'request', 'and its plans');
select :'asked'::jsonb ->> 'action_id' as action, :'asked'::jsonb ->> 'impact' as impact
\gset
select is(fixture.refusal('fixture_operator', pg_temp.retiring(:'action', :'impact')) ->> 'code',
  'RP210', 'I8: who asked does not decide');
select is(fixture.call('fixture_approver', pg_temp.retiring(:'action', :'impact')) ->> 'status',
  'DONE', 'D16: another person retires it');
select is((select p.status from replay.projection p where p.projection = 'cases'), 'RETIRED',
  'D16: it is retired');
select is((select r.status from replay.request r where r.request_id = :'request'), 'CANCELLED',
  'its plans are cancelled');
select lives_ok($$select fixture.append('a3', '{a@3}')$$, 'D16: its failures block no append');
select is((select count(*) from replay.failure f where f.status = 'OPEN'), 1::bigint,
  'D16: its rows stay');
select throws_ok($$select replay.claim_batch('cases')$$, 'RP213', null, 'nothing is processed');
select throws_ok(format($$select replay.create_request(%L, 'cases', p_reason => 'r',
  p_failure_ids => array(select failure_id from replay.failure))$$, fixture.host()), 'RP213', null,
  'and nothing planned');

select * from finish();
rollback;
