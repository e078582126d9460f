create or replace function replay.place_hold(
  p_host_id uuid, p_reason text, p_failure_id uuid default null
)
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
  if p_failure_id is not null and not exists (
    select from replay.failure f where (f.host_id, f.failure_id) = (p_host_id, p_failure_id))
  then
    perform replay._refuse_unknown_failure(p_host_id, p_failure_id);
  end if;
  insert into replay.legal_hold (host_id, hold_id, failure_id, reason, placed_by, placed_at)
  values (p_host_id, gen_random_uuid(), p_failure_id, v_reason, replay._actor(), replay._now())
  returning * into v_hold;
  perform replay._audit(p_host_id, 'HOLD_PLACED', v_reason, p_failure_id => p_failure_id,
    p_detail => jsonb_build_object('hold_id', v_hold.hold_id));
  return v_hold;
end;
$$;

comment on function replay.place_hold is
'Keep the payloads of a failure, or of all failures of a host, from retention until the hold is
released. Several may stand.

p_failure_id: null: all of the host.
Raises RP001 without a reason; RP102 when there is no such failure.';

revoke all on function replay.place_hold from public;
grant execute on function replay.place_hold to replay_operator;
