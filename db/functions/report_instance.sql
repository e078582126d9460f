create or replace function replay.report_instance(p_instance_id text)
  returns replay.config
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_config replay.config := replay._config();
begin
  insert into replay.instance (instance_id, is_expected, generation, seen_at)
  values (p_instance_id, false, v_config.generation, replay._now())
  on conflict (instance_id) do update
  set generation = excluded.generation, seen_at = excluded.seen_at;
  return v_config;
end;
$$;

comment on function replay.report_instance is
'Say that a live processor is at work, and give it the settings that hold. The driver does it every
10 seconds.';

revoke all on function replay.report_instance from public;
grant execute on function replay.report_instance to replay_processor;
