create or replace function replay.complete_items(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint,
  p_xact_id xid8,
  p_failures jsonb default '[]',
  p_upto int default null
)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- As in claim_batch.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_mergejoin = off
  set enable_bitmapscan = off
as $$
declare
  v_request replay.request;
begin
  perform replay._check_host(p_host_id);
  perform replay._own_batch(p_xact_id);
  v_request := replay._lock_held_request(p_host_id, p_request_id, p_fence);
  if v_request.mode <> 'EXECUTE' then
    raise exception 'request % is a %, it commits nothing', p_request_id, v_request.mode
      using errcode = 'RP207', detail = jsonb_build_object('mode', v_request.mode),
            hint = 'Roll back, then call roll_back_items.';
  end if;

  delete from replay.batch_item b
  where b.xact_id = p_xact_id and b.ord > p_upto;
  perform replay._mark_batch(p_xact_id, p_failures, '{}');
  perform replay._move_progress(p_xact_id);
  perform replay._write_ledger(p_xact_id);
  perform replay._resolve_failures(v_request, p_xact_id);
  perform replay._record_attempts(v_request, p_failures, array(
    select b.ord from replay.batch_item b
    where b.xact_id = p_xact_id and b.decision = 'APPLY'), 'SUCCEEDED');

  delete from replay.batch_item b
  where b.xact_id = p_xact_id;
end;
$$;

comment on function replay.complete_items is
'Write down what a chunk came to, in the database transaction that loaded it: progress by
compare-and-set, ledger, failures RESOLVED, attempts. Commit, then settle_items.

p_failures: the one item that failed, as its error report with "ord" its item number; p_upto: the
last item dealt with; those behind it get no attempt.
Raises RP001 for a report that is malformed or of an item not in the chunk; RP010 outside READ
COMMITTED; RP103 when there is no such request; RP207 when it is a dry run; RP301 when it is no
longer held; RP302 when the chunk was loaded in another database transaction; RP501 when progress
moved.';

revoke all on function replay.complete_items from public;
grant execute on function replay.complete_items to replay_processor;
