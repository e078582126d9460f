create or replace function replay._conclude_batch(p_xact_id xid8, p_failures jsonb)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  perform replay._capture(p_xact_id, p_failures);
  perform replay._observe(p_xact_id);
  perform replay._defer(p_xact_id);
  perform replay._move_progress(p_xact_id);
  perform replay._write_ledger(p_xact_id);
  perform replay._wake_next(p_xact_id);
  if p_failures <> '[]' then
    perform replay._count_archive(p_xact_id);
  end if;
end;
$$;

comment on function replay._conclude_batch is
'Everything a decided and executed batch leaves behind, but for positions.

Raises RP501 when progress is not where the decision found it.';

revoke all on function replay._conclude_batch from public;
