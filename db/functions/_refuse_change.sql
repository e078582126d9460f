create or replace function replay._refuse_change()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  raise exception 'rows of "%" never change', tg_table_name
    using errcode = 'RP216',
          detail = jsonb_build_object('table', tg_table_name, 'operation', lower(tg_op)),
          hint = 'Nothing may change or remove them; append or publish something new instead.';
end;
$$;

comment on function replay._refuse_change is
'Keep the rows of a table as they were written, for ever.

Raises RP216 when anybody, the owner too, updates, deletes or truncates.';

revoke all on function replay._refuse_change from public;

create trigger registry_immutable before update or delete or truncate on replay.registry
for each statement execute function replay._refuse_change();
create trigger registry_entry_immutable before update or delete or truncate on replay.registry_entry
for each statement execute function replay._refuse_change();
create trigger transaction_immutable before update or delete or truncate on replay.transaction
for each statement execute function replay._refuse_change();
create trigger event_immutable before update or delete or truncate on replay.event
for each statement execute function replay._refuse_change();
create trigger outbox_immutable before update or truncate on replay.outbox
for each statement execute function replay._refuse_change();
create trigger audit_immutable before update or delete or truncate on replay.audit
for each statement execute function replay._refuse_change();
create trigger failure_kept before delete or truncate on replay.failure
for each statement execute function replay._refuse_change();
create trigger failure_member_immutable before update or truncate on replay.failure_member
for each statement execute function replay._refuse_change();
create trigger failure_scope_kept before delete or truncate on replay.failure_scope
for each statement execute function replay._refuse_change();
create trigger request_kept before delete or truncate on replay.request
for each statement execute function replay._refuse_change();
create trigger request_item_kept before delete or truncate on replay.request_item
for each statement execute function replay._refuse_change();
create trigger attempt_immutable before update or delete or truncate on replay.attempt
for each statement execute function replay._refuse_change();
create trigger removed_member_immutable
before update or delete or truncate on replay.removed_member
for each statement execute function replay._refuse_change();
create trigger config_immutable before update or delete or truncate on replay.config
for each statement execute function replay._refuse_change();
