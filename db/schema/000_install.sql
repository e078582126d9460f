-- What the rest stands on. Unlike the numbered files behind it, this one runs at every install, as
-- the installing role; all else is created by replay_owner, and owned by it.
do $$
declare
  v_role text;
begin
  -- Roles belong to the cluster: another database, or another install at this moment, may have
  -- made them already.
  foreach v_role in array array['replay_owner', 'replay_reader', 'replay_operator',
    'replay_approver', 'replay_processor', 'replay_appender', 'replay_gateway']
  loop
    if to_regrole(v_role) is null then
      begin
        execute format('create role %I nologin', v_role);
      exception when duplicate_object or unique_violation then
        null;
      end;
    end if;
  end loop;

  -- An installer that is no superuser must become the owner. From PostgreSQL 16 on, who created a
  -- role may grant it, but may not yet become it.
  begin
    set local role replay_owner;
  exception when insufficient_privilege then
    execute format('grant replay_owner to %I', current_user);
  end;
  reset role;
end;
$$;

create schema if not exists replay authorization replay_owner;
set local role replay_owner;

create table if not exists replay.schema_file (
  name text primary key,
  applied_at timestamptz not null
);
comment on table replay.schema_file is 'The schema files that this database has gone through.';

create table if not exists replay.install (
  digest bytea not null,
  version text not null,
  installed_at timestamptz not null
);
comment on table replay.install is
'One row: what the last install brought. The driver compares digest, over all files of db, with its
own.';
