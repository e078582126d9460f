create or replace function replay._mark_batch(p_xact_id xid8, p_failures jsonb, p_skipped int[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_failed int[] := replay._check_reports(p_failures);
  v_marked int;
begin
  update replay.batch_item b
  set decision = case when b.ord = any (v_failed) then 'FAIL' else 'DEFER' end,
    failure_id = case
      when b.failure_id is null and b.ord = any (v_failed) then gen_random_uuid()
      else b.failure_id
    end
  where b.xact_id = p_xact_id and b.decision = 'APPLY'
    and (b.ord = any (v_failed) or b.ord = any (p_skipped));
  get diagnostics v_marked = row_count;

  if v_marked <> cardinality(v_failed) + cardinality(p_skipped) then
    raise exception 'the outcome names items that were not to be applied, or names one twice'
      using errcode = 'RP001',
            detail = jsonb_build_object('failed', v_failed, 'skipped', p_skipped),
            hint = 'Report each item of the batch that had decision APPLY at most once.';
  end if;
end;
$$;

comment on function replay._mark_batch is
'Note in the batch which items failed and which were skipped.

Raises RP001 when the outcome does not fit the batch, or a report is malformed.';

revoke all on function replay._mark_batch from public;
