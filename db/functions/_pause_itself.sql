create or replace function replay._pause_itself(p_streak replay.failure_streak)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_reason text := format('%s of %s recent transactions failed with %s', p_streak.failed_count,
    p_streak.decided_count, p_streak.error_code);
begin
  update replay.projection p
  set status = 'PAUSED', pause_reason = v_reason
  where p.projection_id = p_streak.projection_id and p.status = 'RUNNING';
  if found then
    perform replay._audit(null, 'PROJECTION_PAUSED', v_reason,
      p_projection_id => p_streak.projection_id,
      p_detail => to_jsonb(p_streak) || '{"by": "MASS_FAILURE"}');
  end if;
end;
$$;

comment on function replay._pause_itself is
'Pause a projection on whose transactions most fail alike; resume_projection lets it go on.';

revoke all on function replay._pause_itself from public;
