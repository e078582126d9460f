create or replace function replay._set_enabled(p_enabled boolean, p_reason text)
  returns replay.config
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_reason text := replay._reason(p_reason);
  v_config replay.config;
begin
  -- One change at a time; readers never wait.
  lock table replay.config in share row exclusive mode;
  v_config := replay._config();
  if v_config.enabled = p_enabled then
    return v_config;
  end if;

  insert into replay.config (generation, enabled, reason, changed_by, changed_at)
  values (v_config.generation + 1, p_enabled, v_reason, replay._actor(), replay._now())
  returning * into v_config;
  perform replay._audit(null,
    case when p_enabled then 'EXECUTION_RESUMED' else 'EXECUTION_PAUSED' end, v_reason,
    p_detail => jsonb_build_object('generation', v_config.generation));
  return v_config;
end;
$$;

comment on function replay._set_enabled is
'Switch the execution breaker, as a new generation of the settings.

Raises RP001 without a reason.';

revoke all on function replay._set_enabled from public;
