create or replace function replay.capture_failure(
  p_projection text,
  p_consumer_group text,
  p_host_id uuid,
  p_transaction_id text,
  p_error jsonb
)
  returns text
  language plpgsql
  volatile
  security definer
  set search_path = ''
  -- As in claim_batch.
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
  set enable_mergejoin = off
as $$
declare
  v_projection_id int;
  v_xact_id xid8 := pg_current_xact_id();
  v_items replay.batch_item[];
  v_failures jsonb := jsonb_build_array(p_error || '{"ord": 1}');
  v_decision text;
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  perform replay._check_reports(v_failures);
  perform replay._check_no_batch();
  v_projection_id
    := (replay._started_projection(p_projection, p_consumer_group)).projection_id;
  v_items := replay._stored_item(v_projection_id, p_host_id, p_transaction_id);
  perform replay._lock_scopes(array(
    select replay._scope_lock_key(p_host_id, v_projection_id, s.scope_type, s.scope_key)
    from unnest(v_items[1].scopes) s));

  insert into replay.batch_item
  select d.* from replay._decide(v_items) d
  returning decision into v_decision;
  if v_decision = 'APPLY' then
    perform replay._refuse_full(a)
    from replay.archive a
    where a.host_id = p_host_id and a.byte_count >= a.hard_limit;
    perform replay._mark_batch(v_xact_id, v_failures, '{}');
    v_decision := 'FAIL';
  end if;

  perform replay._conclude_batch(v_xact_id, v_failures);
  delete from replay.batch_item b
  where b.xact_id = v_xact_id;
  return v_decision;
end;
$$;

comment on function replay.capture_failure is
'Keep one failed transaction of the event store, for processors of other make, and return the
decision: FAIL when it is an OPEN failure now, DEFER when it was not next and is kept until it is,
OBSERVED, DUPLICATE, STALE or CONFLICT otherwise.

p_error: the error report, {"error_code", ...}, see docs/contract.md. Moves no position.
Raises RP001 when the report names no error_code; RP010 outside READ COMMITTED; RP013 in a database
transaction that holds a batch; RP101 when the
projection is not registered; RP104 when the transaction is not in the outbox; RP213 when the
projection has not started or is retired; RP502 when there is no room to keep it.';

revoke all on function replay.capture_failure from public;
grant execute on function replay.capture_failure to replay_processor;
