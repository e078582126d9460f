create or replace function replay.release_hold(p_host_id uuid, p_hold_id uuid, p_reason text)
  returns replay.legal_hold
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_reason text := replay._reason(p_reason);
  v_hold replay.legal_hold;
begin
  perform replay._check_host(p_host_id);
  update replay.legal_hold h
  set released_by = replay._actor(), released_at = replay._now(), release_reason = v_reason
  where (h.host_id, h.hold_id) = (p_host_id, p_hold_id) and h.released_at is null
  returning * into v_hold;
  if not found then
    raise exception 'no hold % stands', p_hold_id
      using errcode = 'RP107', detail = jsonb_build_object('hold_id', p_hold_id),
            hint = 'The view replay.standing_hold shows those that do.';
  end if;
  perform replay._audit(p_host_id, 'HOLD_RELEASED', v_reason, p_failure_id => v_hold.failure_id,
    p_detail => jsonb_build_object('hold_id', p_hold_id));
  return v_hold;
end;
$$;

comment on function replay.release_hold is
'Release a legal hold.

Raises RP001 without a reason; RP107 when no such hold stands.';

revoke all on function replay.release_hold from public;
grant execute on function replay.release_hold to replay_operator;
