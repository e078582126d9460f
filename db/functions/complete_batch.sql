create or replace function replay.complete_batch(
  p_xact_id xid8,
  p_failures jsonb default '[]',
  p_skipped int[] default '{}',
  p_upto int default null
)
  returns replay.batch_result
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- Each statement is a few index probes a transaction at any size of table: plan it once for all,
  -- and never by scans.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_mergejoin = off
as $$
declare
  v_result replay.batch_result;
begin
  perform replay._own_batch(p_xact_id);
  if exists (select from replay.trial t) then
    -- What is behind p_upto has ended as well.
    perform replay._end_trials(p_xact_id);
  end if;
  delete from replay.batch_item b
  where b.xact_id = p_xact_id and b.ord > p_upto;
  perform replay._mark_batch(p_xact_id, p_failures, p_skipped);

  perform replay._conclude_batch(p_xact_id, p_failures);
  if p_failures <> '[]' or exists (select from replay.failure_streak s) then
    perform replay._watch_failures(p_xact_id, p_failures);
  end if;
  v_result := replay._move_positions(p_xact_id);

  delete from replay.batch_item b
  where b.xact_id = p_xact_id;
  return v_result;
end;
$$;

comment on function replay.complete_batch is
'Write down everything a batch came to, in the database transaction that claimed it: failures,
deferrals, progress, ledger, observations, evidence, wake rows, counters and positions.

p_failures: an array of error reports, each {"ord", "error_code", ...}, see docs/contract.md.
p_skipped: items not run because one they follow was not applied; they are deferred.
p_upto: the last item of the batch that was dealt with; what is behind it is read again.
Raises RP001 for a report that is malformed or of an item not to be applied; RP010 outside READ
COMMITTED; RP302 when the batch belongs to another database transaction (a handler committed, say);
RP501 when progress is not where the decision found it.';

revoke all on function replay.complete_batch from public;
grant execute on function replay.complete_batch to replay_processor;
