create or replace function replay.get_status()
  returns replay.fleet_status
  language sql
  stable
  security definer
begin atomic
  select row(c.generation, c.enabled, c.excluded_event_types, c.digest, c.reason, c.changed_by,
    c.changed_at, (
      select count(*) from replay.request_status r
      where r.status in ('INSTALLING_BARRIER', 'RUNNING') and not r.retryable),
    i.is_confirmed, i.instances)::replay.fleet_status
  from replay.setting c
  cross join lateral (
    select coalesce(bool_and(s.state = 'CONFIRMED') filter (where s.is_expected), true)
        as is_confirmed,
      coalesce(jsonb_agg(to_jsonb(s) order by s.instance_id), '[]') as instances
    from replay.instance_status s) i;
end;

comment on function replay.get_status is
'Tell which settings hold, how many replays of the caller''s hosts are in execution, and whether
every process that is expected is known to have the settings: it was seen within a minute, and since they
were set.';

revoke all on function replay.get_status from public;
grant execute on function replay.get_status to replay_reader;
