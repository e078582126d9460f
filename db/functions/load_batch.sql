create or replace function replay.load_batch(p_xact_id xid8)
  returns setof replay.batch_transaction
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  perform replay._own_batch(p_xact_id);
  return query select b.* from replay._read_batch(p_xact_id, true) b;
end;
$$;

comment on function replay.load_batch is
'The batch or chunk in hand once more, with its events: when run_batch could not run it and the
caller calls the handlers itself.

Raises RP010 outside READ COMMITTED; RP302 when the batch belongs to another database transaction.';

revoke all on function replay.load_batch from public;
grant execute on function replay.load_batch to replay_processor;
