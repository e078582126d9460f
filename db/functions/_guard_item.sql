create or replace function replay._guard_item()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  if (new.host_id, new.request_id, new.item_no, new.failure_id, new.fingerprint)
    = (old.host_id, old.request_id, old.item_no, old.failure_id, old.fingerprint)
    and old.status = 'PENDING'
  then
    return new;
  end if;
  raise exception 'item % of request % changes once, by being done', old.item_no, old.request_id
    using errcode = 'RP216',
          detail = jsonb_build_object('request_id', old.request_id, 'item_no', old.item_no),
          hint = 'What was approved is what runs: make a new plan.';
end;
$$;

comment on function replay._guard_item is
'Keep an item as it was planned; its status changes once, when it is done.

Raises RP216 when anything else would change.';

revoke all on function replay._guard_item from public;

create trigger request_item_guarded before update on replay.request_item
for each row execute function replay._guard_item();
