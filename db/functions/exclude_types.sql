create or replace function replay.exclude_types(p_event_types text[], p_reason text)
  returns replay.config
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_config replay.config := replay._lock_config();
begin
  v_config.excluded_event_types := array(
    select distinct x.event_type from unnest(p_event_types) x (event_type) order by 1);
  v_config.reason := p_reason;
  perform replay._check_exclusions(v_config.excluded_event_types);
  return replay._set_config(v_config, 'TYPES_EXCLUDED');
end;
$$;

comment on function replay.exclude_types is
'Set which event types are excluded from replay, all of them at a time; none: {}. A failure with a
member of such a type cannot be planned until it is lifted, and its transaction is a batch of its
own. Capture and all else go on.

p_event_types: exact names of unordered types.
Raises RP001 without a reason; RP226 for a type that is unknown or ordered, or that an ordered
transaction holds which is OPEN, deferred or not read yet: nobody could heal its aggregate.';

revoke all on function replay.exclude_types from public;
grant execute on function replay.exclude_types to replay_operator;
