create or replace function replay._own_batch(p_xact_id xid8)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  perform replay._require_read_committed();
  if p_xact_id is distinct from pg_current_xact_id_if_assigned()
    or not exists (select from replay.batch_item b where b.xact_id = p_xact_id)
  then
    raise exception 'this database transaction holds no such batch'
      using errcode = 'RP302', detail = jsonb_build_object('xact_id', p_xact_id::text),
            hint = 'Claim, run and complete in one database transaction; claim again.';
  end if;
end;
$$;

comment on function replay._own_batch is
'Refuse a batch that this database transaction has not claimed.

Raises RP302; RP010 outside READ COMMITTED.';

revoke all on function replay._own_batch from public;
