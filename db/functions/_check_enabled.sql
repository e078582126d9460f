create or replace function replay._check_enabled()
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_config replay.config := replay._config();
begin
  if not v_config.enabled then
    raise exception 'the execution of replays is paused'
      using errcode = 'RP222',
            detail = jsonb_build_object('generation', v_config.generation, 'changed_by',
              v_config.changed_by, 'changed_at', v_config.changed_at),
            hint = 'Ask who paused it; after resume_execution, execute the request again.';
  end if;
end;
$$;

comment on function replay._check_enabled is
'Check that the execution breaker is closed.

Raises RP222 while execution is paused.';

revoke all on function replay._check_enabled from public;
