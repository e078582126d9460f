create or replace function replay._enqueue(p_host_id uuid, p_lane int, p_transaction_id text)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_xact_id constant xid8 := pg_current_xact_id();
begin
  insert into replay.outbox_pending (xact_id, append_order, host_id, lane, transaction_id)
  select v_xact_id, coalesce(max(o.append_order), 0) + 1, p_host_id, p_lane, p_transaction_id
  from replay.outbox_pending o
  where o.xact_id = v_xact_id;
end;
$$;

comment on function replay._enqueue is
'Put a transaction in the line for an outbox offset, which it gets at COMMIT.';

revoke all on function replay._enqueue from public;
