begin;
\ir lib/fixtures.psql
select plan(16);

select fixture.append('t' || n, array['a' || n || '@1']) from generate_series(1, 5) n
\g /dev/null
select fixture.append('n1', '{}'), fixture.append('g1', array['#g@1', 'b@1'])
\g /dev/null
select fixture.append('u1', '{a1@1}', p_host_id => '22222222-2222-4222-8222-222222222222')
\g /dev/null
select fixture.project('{t1,t2,t3}'), fixture.pass('1 minute'), fixture.project('{}')
\g /dev/null
select fixture.project('{u1}', p_host_id => '22222222-2222-4222-8222-222222222222')
\g /dev/null
select fixture.append('t6', '{a6@1}'), fixture.append('g2', array['#h@1', 'c@1']),
  fixture.pass('1 minute')
\g /dev/null
select fixture.project('{t6,g2}')
\g /dev/null

select results_eq(
  $$select transaction_id from replay.list_failures(fixture.host()) order by 1$$,
  $$values ('g2'), ('t1'), ('t2'), ('t3'), ('t6')$$, 'lists the OPEN failures of a host');
select results_eq(
  $$select captured_at from replay.list_failures(fixture.host())$$,
  $$select captured_at from replay.failure where host_id = fixture.host() order by captured_at$$,
  'the oldest first');
select is((select count(*) from replay.list_failures()), 6::bigint, 'without a host, of all hosts');
select results_eq(
  $$select unnest(scopes)::text from replay.list_failures(p_scope_type => 'AGGREGATE',
    p_scope_key => 'Case:c')$$,
  $$values ('(AGGREGATE,Case:c,1,1)'), ('(GRAPH_ROOT,h,1,1)')$$, 'with all scopes, by one of them');
select is_empty($$select replay.list_failures(p_scope_type => 'GRAPH_ROOT', p_scope_key => 'g')$$,
  'a scope that is not blocked has none');
select is((select count(*) from replay.list_failures(p_projection => 'cases')), 6::bigint,
  'by projection');
select is_empty($$select replay.list_failures(p_projection => 'other')$$, 'and no other');
select is_empty($$select replay.list_failures(p_consumer_group => 'other')$$,
  'and of its consumer group');
select is((select count(*) from replay.list_failures(p_error_code => 'BadCase')), 6::bigint,
  'by error code');
select is_empty($$select replay.list_failures(p_status => 'RESOLVED')$$, 'by status');
select is((select count(*) from replay.list_failures(p_status => null)), 6::bigint,
  'null is every status');

create function pg_temp.pages(p_host_id uuid) returns setof uuid language plpgsql as $$
declare
  v_page uuid[];
begin
  loop
    v_page := array(select failure_id from replay.list_failures(p_host_id, p_limit => 2,
      p_after => v_page[cardinality(v_page)]));
    exit when v_page = '{}';
    return query select unnest(v_page);
  end loop;
end;
$$;
select results_eq('select pg_temp.pages(fixture.host())',
  'select failure_id from replay.list_failures(fixture.host())',
  'O5: pages list every failure of a host exactly once');
select results_eq('select pg_temp.pages(null)', 'select failure_id from replay.list_failures()',
  'O5: and of all hosts');

select is(
  fixture.refusal('fixture_operator', $$select replay.list_failures(p_status => 'BROKEN')$$),
  '{"code": "RP001", "argument": "status", "allowed": ["OPEN", "RESOLVED", "WAIVED"]}',
  'an unknown status is refused, and told which there are');
select throws_ok($$select replay.list_failures(p_limit => 0)$$, 'RP001', null,
  'a page holds something');
select throws_ok(
  $$select replay.list_failures(p_after => '00000000-0000-4000-8000-000000000000')$$, 'RP102',
  null, 'a page goes on from a failure that there is');

select * from finish();
rollback;
