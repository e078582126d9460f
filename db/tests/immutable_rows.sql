begin;
\ir lib/fixtures.psql
select plan(25);

select fixture.append('t1', '{a@1}'), fixture.append('t2', '{b@1}')
\g /dev/null
select fixture.project('{t1,t2}')
\g /dev/null
select fixture.approved('{t1,t2}') as request
\gset

create function pg_temp.refused(p_statement text, p_code text, p_name text) returns text
language sql
begin atomic
  select throws_ok(p_statement, p_code, null, p_name);
end;

select pg_temp.refused($$update replay.failure set error_code = 'X'$$, 'RP216',
  'what was captured of a failure never changes');
select pg_temp.refused($$update replay.failure set fingerprint = '\x00', status = 'RESOLVED',
  resolution_code = 'X', resolved_at = replay._now()$$, 'RP216', 'not with its status either');
select pg_temp.refused('delete from replay.failure', 'RP216', 'I3: nor is a failure removed');
select pg_temp.refused('update replay.failure_member set payload = payload', 'RP216',
  'I2: nor do its bytes change');
select pg_temp.refused('delete from replay.failure_member', 'RP216', 'I4: or its members');
select pg_temp.refused('update replay.failure_scope set first_version = 2', 'RP216',
  'or its scopes');
select pg_temp.refused('delete from replay.failure_scope', 'RP216', 'which stay');
select pg_temp.refused('truncate replay.failure cascade', 'RP216', 'all of them');

select pg_temp.refused($$update replay.request set plan = plan || '\x00'$$, 'RP216',
  'I7: a plan never changes');
select pg_temp.refused($$update replay.request set expires_at = expires_at + interval '1 day'$$,
  'RP216', 'nor its end');
select pg_temp.refused($$update replay.request set requested_by = 'nobody'$$, 'RP216',
  'I8: nor who asked');
select pg_temp.refused($$update replay.request set approved_by = 'nobody'$$, 'RP216',
  'I8: or approved');
select pg_temp.refused('delete from replay.request', 'RP216', 'nor is it removed');
select pg_temp.refused('update replay.request_item set item_no = item_no + 7', 'RP216',
  'I7: its items stand');
select pg_temp.refused('delete from replay.request_item', 'RP216', 'all of them');
select pg_temp.refused($$update replay.request set status = 'SUCCEEDED'$$, 'RP207',
  'a request makes only the moves there are');
select pg_temp.refused($$insert into replay.request select (jsonb_populate_record(r,
  jsonb_build_object('request_id', gen_random_uuid()))).* from replay.request r$$, '428C9',
  'its hash is computed, not given');
select pg_temp.refused($$insert into replay.request (host_id, request_id, projection_id, strategy,
  mode, status, plan, item_count, member_count, byte_count, reason, requested_by, requested_at,
  expires_at) select host_id, gen_random_uuid(), projection_id, strategy, mode, 'APPROVED', plan,
  item_count, member_count, byte_count, reason, requested_by, requested_at, expires_at
  from replay.request$$, 'RP207', 'and begins by PLANNING');
select results_eq(
  'select from_status, to_status from replay.request_transition order by 1, 2',
  $$values ('APPROVED', 'CANCELLED'), ('APPROVED', 'EXPIRED'), ('APPROVED', 'INSTALLING_BARRIER'),
    ('AWAITING_APPROVAL', 'APPROVED'), ('AWAITING_APPROVAL', 'CANCELLED'),
    ('AWAITING_APPROVAL', 'EXPIRED'), ('INSTALLING_BARRIER', 'FAILED'),
    ('INSTALLING_BARRIER', 'RUNNING'), ('PLANNING', 'FAILED'), ('PLANNING', 'READY'),
    ('READY', 'AWAITING_APPROVAL'), ('READY', 'CANCELLED'), ('READY', 'EXPIRED'),
    ('RUNNING', 'FAILED'), ('RUNNING', 'SUCCEEDED')$$, 'which are these');

select fixture.decide('fixture_operator', 'execute', :'request')
\g /dev/null
select fixture.run_chunk(:'request', '{t2}')
\g /dev/null
select pg_temp.refused($$update replay.failure set status = 'OPEN', resolution_code = null,
  resolved_at = null where status = 'RESOLVED'$$, 'RP216', 'a RESOLVED failure never opens again');
select pg_temp.refused('update replay.failure_scope set is_open = true where not is_open', 'RP216',
  'nor does it take its scopes again');
select pg_temp.refused($$update replay.request_item set status = 'PENDING'$$, 'RP216',
  'an item is done once');
select pg_temp.refused($$update replay.attempt set result = 'SUCCEEDED'$$, 'RP216',
  'an attempt stays as it ended');
select pg_temp.refused('update replay.request set fence = fence - 1', 'RP216',
  'I9: a fence only rises');
select pg_temp.refused('delete from replay.audit', 'RP216', 'I18: audit only grows');

select * from finish();
rollback;
