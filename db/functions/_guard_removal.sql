create or replace function replay._guard_removal()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  if exists (
    select from replay.removed_member r
    join replay.failure f on (f.host_id, f.failure_id) = (r.host_id, r.failure_id)
    where (r.host_id, r.failure_id, r.ordinal) = (old.host_id, old.failure_id, old.ordinal)
      and r.digest = old.digest and f.status <> 'OPEN')
  then
    return old;
  end if;
  raise exception 'the members of failure % are kept', old.failure_id
    using errcode = 'RP216',
          detail = jsonb_build_object('failure_id', old.failure_id, 'ordinal', old.ordinal),
          hint = 'Only remove_payloads removes them, of failures that are not OPEN.';
end;
$$;

comment on function replay._guard_removal is
'Keep the members of a failure, unless it is not OPEN and removed_member has their digests.

Raises RP216.';

revoke all on function replay._guard_removal from public;

create trigger failure_member_kept before delete on replay.failure_member
for each row execute function replay._guard_removal();
