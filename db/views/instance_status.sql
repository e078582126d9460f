create view replay.instance_status with (security_barrier) as
select
  i.instance_id,
  i.is_expected,
  i.generation,
  i.seen_at,
  case
    when i.seen_at is null then 'MISSING'
    when i.seen_at < replay._now() - interval '60 seconds' then 'STALE'
    when i.generation <> (select max(c.generation) from replay.config c) then 'OTHER_GENERATION'
    else 'CONFIRMED'
  end as state
from replay.instance i;

comment on view replay.instance_status is
'Live processors, and whether each is known to have the settings that hold.';
comment on column replay.instance_status.state is
'CONFIRMED; MISSING: expected and never seen; STALE: not seen for a minute; OTHER_GENERATION: seen
before the settings were set.';

grant select on replay.instance_status to replay_reader;
