create or replace function replay._guard_failure()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_allowed replay.failure := old;
begin
  v_allowed.status := new.status;
  v_allowed.resolution_code := new.resolution_code;
  v_allowed.resolved_at := new.resolved_at;
  v_allowed.resolved_by_request_id := new.resolved_by_request_id;
  v_allowed.removed_at := old.removed_at;
  if old.status = 'OPEN' and new is not distinct from v_allowed then
    return new;
  end if;
  v_allowed := old;
  v_allowed.removed_at := new.removed_at;
  if old.status <> 'OPEN' and old.removed_at is null and new is not distinct from v_allowed then
    return new;
  end if;

  raise exception 'failure % is kept as it was captured', old.failure_id
    using errcode = 'RP216',
          detail = jsonb_build_object('failure_id', old.failure_id, 'status', old.status),
          hint = 'It changes when it is resolved or waived, and when its payloads are removed.';
end;
$$;

comment on function replay._guard_failure is
'Keep a failure as it was captured; only its lifecycle columns change, and only while it is OPEN;
removed_at once, when it is not.

Raises RP216 when anything else would change.';

revoke all on function replay._guard_failure from public;

create trigger failure_guarded before update on replay.failure
for each row execute function replay._guard_failure();
