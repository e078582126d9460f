-- The style guide, executable. A rule that can be a query lives here, not in prose.
begin;
select plan(33);

create temp view fn as
select p.oid, p.proname as name, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) as body,
  l.lanname as lang, p.prosecdef as definer, p.provolatile as volatility,
  coalesce(p.proconfig, '{}') @> '{"search_path=\"\""}' as pinned,
  (p.proargnames)[1:p.pronargs] as args, obj_description(p.oid, 'pg_proc') as comment,
  p.prorettype = 'trigger'::regtype as is_trigger, p.proname !~ '^_' as is_public
from pg_proc p join pg_language l on l.oid = p.prolang
where p.pronamespace = 'replay'::regnamespace;

create temp view rel as
select c.oid, c.relname as name, c.relkind as kind, c.relowner, c.relacl, c.reloptions
from pg_class c
where c.relnamespace = 'replay'::regnamespace and c.relkind in ('r', 'v', 'c', 'S', 'm', 'p');

-- Not of a host: settings, catalogues, and what lives within one database transaction.
create temp table global_table (name text);
insert into global_table values ('error'), ('schema_file'), ('install'), ('registry'), ('config'),
  ('registry_entry'), ('projection'), ('host_member'), ('instance'), ('pending_action'),
  ('failure_streak'), ('request_transition'), ('audit'), ('batch_item'), ('outbox_pending');

-- What is referred to here is never deleted, or (deferred, from wake) has few referrers at a time.
create temp table unindexed_reference (source text, target text);
insert into unindexed_reference values
('failure', 'registry'), ('position', 'projection'),
('progress', 'projection'), ('ledger', 'projection'), ('deferred', 'projection'),
('observation', 'projection'), ('evidence', 'projection'), ('failure', 'projection'),
('request', 'projection'), ('pending_action', 'projection'), ('barrier', 'projection'),
('audit', 'projection'),
('deferred', 'transaction'), ('barrier', 'request_item'), ('attempt', 'run'),
('wake', 'deferred');

-- Functions

select is_empty($$select name from fn where comment is null$$, 'every function has a comment');
select is_empty($$select name from fn where comment !~ '^[A-Z][^\n]*'$$,
  'a comment begins with a sentence');
select is_empty($$select name from fn group by name having count(*) > 1$$,
  'no function is overloaded');
select is_empty($$select name, a from fn, unnest(args) a where a !~ '^p_'$$,
  'every argument starts with p_');
select is_empty($$select name from fn where is_public and name !~ '^[a-z]+(_[a-z]+)+$'$$,
  'a public name is verb_noun');
-- run_batch calls handlers, which are the caller's and find things where the caller does. So its
-- helpers are called by the caller, too.
create temp table helper (name text);
insert into helper values ('_run_at_once'), ('_run_in_blocks'), ('_handler_calls'),
  ('_quote_function'), ('_batch_call'), ('_error_report'), ('_is_fault_of_batch');
select is_empty($$select name from fn where lang = 'plpgsql' and not pinned
  and name not in ('run_batch', '_run_at_once', '_run_in_blocks')$$,
  'every plpgsql function pins search_path');
select is_empty($$select name from fn where lang not in ('sql', 'plpgsql')$$,
  'functions are sql or plpgsql');
select is_empty($$select proname from pg_proc join fn using (oid) where lang = 'sql'
  and prosrc <> ''$$, 'every sql function has a parsed body (return / begin atomic)');
select is_empty($$select name from fn where is_public and not definer and name <> 'run_batch'$$,
  'public functions are security definer');
select is_empty($$select f.name from fn f where not f.is_public and f.definer and not exists (
  select from pg_trigger t where t.tgfoid = f.oid and t.tgdeferrable)$$,
  'private ones are not, but for those of deferred triggers');
select is_empty($$select name from fn where has_function_privilege('public', oid, 'execute')$$,
  'nothing is executable by public');
select is_empty($$
  select f.name from fn f where f.is_public and f.name not in ('add_member', 'remove_member')
    and not exists (
    select from pg_proc p, aclexplode(p.proacl) a
    where p.oid = f.oid and a.grantee::regrole::text ~ '^replay_'
      and a.grantee <> 'replay_owner'::regrole)$$, 'every public function is granted to a role, but for those of the owner');
select is_empty($$
  select f.name, a.grantee::regrole from fn f join pg_proc p using (oid), aclexplode(p.proacl) a
  where a.grantee <> p.proowner
    and (a.grantee::regrole::text !~ '^replay_' or a.privilege_type <> 'EXECUTE' or a.is_grantable
      or not f.is_public and a.grantee <> 'replay_reader'::regrole
        and (f.name, a.grantee) not in (select h.name, 'replay_processor'::regrole from helper h
          -- A submitter reads transaction_status, which asks who it is.
          union all values ('_actor', 'replay_appender'::regrole)))$$,
  'to our roles only; private ones at most to the reader, for views');
select is_empty($$select name from fn where name <> '_now'
  and body ~* '\m((now|(clock|transaction|statement)_timestamp)\s*\(|(current|local)_?time)'$$,
  'time comes from replay._now()');
select is_empty($$
  select name from fn where
    (select count(*) from regexp_matches(body, 'raise exception', 'gi'))
    <> (select count(*) from regexp_matches(body, 'errcode', 'gi'))$$,
  'every raise names an error code');
select is_empty($$
  select name from fn where
    (select count(*) from regexp_matches(body, 'raise exception', 'gi'))
    <> (select count(*) from regexp_matches(body, '\mdetail = ', 'gi'))
    or (select count(*) from regexp_matches(body, 'raise exception', 'gi'))
    <> (select count(*) from regexp_matches(body, '\mhint = ', 'gi'))$$,
  'and a detail and a hint');
select is_empty($$
  select name, m[1] from fn, regexp_matches(body, 'errcode\s*=\s*''(\w{5})''', 'gi') m
  where m[1] not in (select code from replay.error)$$, 'which the catalogue lists');
select is_empty($$
  select name, m[1] from fn, regexp_matches(body, 'errcode\s*=\s*''(\w{5})''', 'gi') m
  where strpos(comment, m[1]) = 0$$, 'and the comment of the function tells');
select is_empty($$select name from fn where lang = 'plpgsql'
  and body ~ 'raise exception ''[A-Z][a-z]'$$, 'messages are in lower case');
select is_empty($$select name from fn where body ~* '\mfor update\M'$$,
  'rows are locked for no key update');
select is_empty($$select name from fn where body ~* 'payload' and name in (
  select p.proname from pg_depend d join pg_rewrite r on r.oid = d.objid
    join pg_proc p on p.oid = d.refobjid where d.refclassid = 'pg_proc'::regclass)$$,
  'I16: no view calls a function that reads payloads');

-- Tables, views, types

select is_empty($$select name from rel where kind in ('r', 'v', 'c')
  and obj_description(oid, 'pg_class') is null
  and not (kind = 'c' and obj_description(
    (select t.oid from pg_type t where t.typrelid = rel.oid), 'pg_type') is not null)$$,
  'every table, view and type has a comment');
select isnt(obj_description('replay'::regnamespace, 'pg_namespace'), null, 'and the schema');
select is_empty($$select name from rel where kind = 'r' and name <> 'install' and not exists (
  select from pg_index i where i.indrelid = rel.oid and i.indisprimary)$$,
  'every table has a primary key');
select is_empty($$
  select rel.name from rel
  join pg_index i on i.indrelid = rel.oid and i.indisprimary
  join pg_attribute a on a.attrelid = rel.oid and a.attnum = i.indkey[0]
  where a.attname <> 'host_id' and rel.name not in (select name from global_table)$$,
  'I15: that of what belongs to a host leads with it');
select is_empty($$
  select rel.name, a.attname from rel join pg_attribute a on a.attrelid = rel.oid
  where rel.kind = 'r' and a.attnum > 0 and not a.attisdropped
    -- start_at is BEGINNING or NOW, the place and not the time.
    and (a.attname ~ '_at$' and a.atttypid <> 'timestamptz'::regtype and a.attname <> 'start_at'
      or a.atttypid in ('timestamp'::regtype, 'varchar'::regtype, 'json'::regtype, 'money'::regtype)
      or a.attname ~ '_count$' and a.atttypid not in ('int'::regtype, 'bigint'::regtype))$$,
  'columns have the types that their names say');
select is_empty($$
  select rel.name, d.adrelid from rel join pg_attrdef d on d.adrelid = rel.oid
  where pg_get_expr(d.adbin, d.adrelid) ~ 'replay\.'$$, 'no function of ours is in a default');
select set_eq($$
  select s.relname::text as source, t.relname::text as target
  from pg_constraint c
  join pg_class s on s.oid = c.conrelid
  join pg_class t on t.oid = c.confrelid
  where c.connamespace = 'replay'::regnamespace and c.contype = 'f'
    and not exists (
      select from pg_index i
      where i.indrelid = c.conrelid
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)$$,
  'select source, target from unindexed_reference',
  'every reference has an index, or is listed');
select is_empty($$
  select rel.name, a.grantee::regrole, a.privilege_type from rel, aclexplode(rel.relacl) a
  where a.grantee <> rel.relowner and not (rel.kind = 'v' and a.privilege_type = 'SELECT')$$,
  'nobody but the owner touches tables');
select is_empty($$select name from rel where relowner <> 'replay_owner'::regrole
  union all
  select name from fn join pg_proc using (oid) where proowner <> 'replay_owner'::regrole$$,
  'which is replay_owner');
select is_empty($$select name from rel where kind = 'v'
  and not coalesce(reloptions, '{}') @> '{security_barrier=true}'$$, 'views are security barriers');
select is_empty($$
  select rel.name, a.attname from rel join pg_attribute a on a.attrelid = rel.oid
  where rel.kind = 'v' and a.attnum > 0 and a.attname ~ '^(payload|payloads|key|headers?)$'
    -- What a processor runs, of the batch that it holds.
    and rel.name <> 'batch_event'$$,
  'I16: no view shows a payload, key or header');

-- plpgsql_check is there on one of the servers.

create function pg_temp.findings() returns setof text language plpgsql as $$
begin
  if not exists (select from pg_proc where proname = 'plpgsql_check_function_tb') then
    return;
  end if;
  return query execute $sql$
    select format('%s:%s %s', f.name, c.lineno, c.message)
    from fn f
    left join pg_trigger t on t.tgfoid = f.oid and not t.tgisinternal
    cross join lateral plpgsql_check_function_tb(f.oid::regprocedure,
      coalesce(t.tgrelid, 0)::regclass, fatal_errors => false, other_warnings => true,
      extra_warnings => true, security_warnings => true) c
    where f.lang = 'plpgsql' and (not f.is_trigger or t.oid is not null)$sql$;
end;
$$;
select is_empty('select pg_temp.findings()', 'plpgsql_check finds nothing');

select * from finish();
rollback;
