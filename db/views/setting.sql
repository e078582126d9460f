create view replay.setting with (security_barrier) as
select
  c.generation,
  c.enabled,
  c.excluded_event_types,
  c.digest,
  c.reason,
  c.changed_by,
  c.changed_at
from replay.config c
order by c.generation desc
limit 1;

comment on view replay.setting is 'The settings that hold now, and who set them why.';
comment on column replay.setting.enabled is 'False: the execution of replays is paused.';

grant select on replay.setting to replay_reader, replay_operator, replay_processor;
