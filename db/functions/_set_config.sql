create or replace function replay._set_config(p_config replay.config, p_action text)
  returns replay.config
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_reason text := replay._reason(p_config.reason);
  v_config replay.config;
begin
  v_config := replay._config();
  if (v_config.enabled, v_config.excluded_event_types)
    = (p_config.enabled, p_config.excluded_event_types)
  then
    return v_config;
  end if;

  insert into replay.config
  values (v_config.generation + 1, p_config.enabled, p_config.excluded_event_types,
    sha256(int4send(v_config.generation + 1) || boolsend(p_config.enabled) || coalesce((
      select string_agg(replay._frame(x.event_type), '' order by x.ord)
      from unnest(p_config.excluded_event_types) with ordinality x (event_type, ord)), '')),
    v_reason, replay._actor(), replay._now())
  returning * into v_config;
  perform replay._audit(null, p_action, v_reason,
    p_detail => jsonb_build_object('generation', v_config.generation, 'excluded_event_types',
      v_config.excluded_event_types, 'digest', encode(v_config.digest, 'hex')));
  return v_config;
end;
$$;

comment on function replay._set_config is
'Write a new generation of the settings, unless it would be as the one before. To be called under
the lock of _lock_config. p_config: enabled, excluded_event_types and reason.

Raises RP001 without a reason.';

revoke all on function replay._set_config from public;
