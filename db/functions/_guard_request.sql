create or replace function replay._guard_request()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  if tg_op = 'UPDATE' and (new.host_id, new.request_id, new.projection_id, new.strategy, new.mode,
    new.plan, new.item_count, new.member_count, new.byte_count, new.reason, new.requested_by,
    new.requested_at, new.expires_at) is distinct from (old.host_id, old.request_id,
    old.projection_id, old.strategy, old.mode, old.plan, old.item_count, old.member_count,
    old.byte_count, old.reason, old.requested_by, old.requested_at, old.expires_at)
    or old.approved_by is not null and new.approved_by is distinct from old.approved_by
    or old.executed_by is not null and new.executed_by is distinct from old.executed_by
    or new.fence < old.fence
  then
    raise exception 'the plan of request % never changes', old.request_id
      using errcode = 'RP216', detail = jsonb_build_object('request_id', old.request_id),
            hint = 'Cancel the request and make a new plan.';
  end if;

  if new.status = old.status or tg_op = 'INSERT' and new.status = 'PLANNING' or exists (
    select from replay.request_transition t
    where (t.from_status, t.to_status) = (old.status, new.status))
  then
    return new;
  end if;
  raise exception 'request % cannot become % from %', new.request_id, new.status,
    coalesce(old.status, 'nothing')
    using errcode = 'RP207',
          detail = jsonb_build_object('request_id', new.request_id, 'from', old.status, 'to',
            new.status),
          hint = 'replay.request_transition lists the moves there are.';
end;
$$;

comment on function replay._guard_request is
'Keep a request to the moves in request_transition, and its plan as it was made.

Raises RP207 when it would make another move; RP216 when the plan, who decided, or a lower fence
would be written.';

revoke all on function replay._guard_request from public;

create trigger request_guarded before insert or update on replay.request
for each row execute function replay._guard_request();
