create or replace function replay._set_enabled(p_enabled boolean, p_reason text)
  returns replay.config
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_config replay.config := replay._lock_config();
begin
  v_config.enabled := p_enabled;
  v_config.reason := p_reason;
  return replay._set_config(v_config,
    case when p_enabled then 'EXECUTION_RESUMED' else 'EXECUTION_PAUSED' end);
end;
$$;

comment on function replay._set_enabled is
'Switch the execution breaker, as a new generation of the settings.

Raises RP001 without a reason.';

revoke all on function replay._set_enabled from public;
