create view replay.installed with (security_barrier) as
select
  i.version,
  i.digest,
  i.installed_at,
  array(select f.name from replay.schema_file f order by f.name) as schema_files
from replay.install i;

comment on view replay.installed is
'What the last install brought; a driver compares it with its own files when it starts.';
comment on column replay.installed.version is 'Of the driver that installed it.';

grant select on replay.installed
to replay_reader, replay_operator, replay_approver, replay_processor, replay_appender;
