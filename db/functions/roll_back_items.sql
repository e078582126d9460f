create or replace function replay.roll_back_items(
  p_host_id uuid,
  p_request_id uuid,
  p_fence bigint,
  p_failures jsonb default '[]',
  p_upto int default null
)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_request replay.request;
  v_failed int[];
  v_items int[];
begin
  perform replay._check_host(p_host_id);
  perform replay._require_read_committed();
  v_failed := replay._check_reports(p_failures);
  v_request := replay._lock_held_request(p_host_id, p_request_id, p_fence);
  if v_request.mode <> 'ROLLBACK_DRY_RUN' then
    raise exception 'request % is no dry run', p_request_id
      using errcode = 'RP207', detail = jsonb_build_object('mode', v_request.mode),
            hint = 'Use complete_items, in the database transaction that ran the handlers.';
  end if;

  v_items := array(
    select distinct b.item_no
    from replay.barrier b
    join replay.request_item i
      on (i.host_id, i.request_id, i.item_no) = (b.host_id, b.request_id, b.item_no)
    where (b.host_id, b.request_id, b.fence) = (p_host_id, p_request_id, p_fence)
      and i.status = 'PENDING' and b.item_no <= coalesce(p_upto, b.item_no));
  if not v_failed <@ v_items then
    raise exception 'the outcome names items that were not to be run'
      using errcode = 'RP001', detail = jsonb_build_object('failed', v_failed, 'items', v_items),
            hint = 'Report each item of the chunk up to p_upto at most once.';
  end if;

  perform replay._record_attempts(v_request, p_failures,
    array(select i.item_no from unnest(v_items) i (item_no) where i.item_no <> all (v_failed)),
    'ROLLED_BACK');
end;
$$;

comment on function replay.roll_back_items is
'Write the attempts of a dry run''s chunk, after its database transaction was rolled back. Commit,
then settle_items.
p_failures, p_upto: as for complete_items.

Raises RP001 for a report that is malformed or of an item not in the chunk; RP010 outside READ
COMMITTED; RP103 when there is no such request; RP207 when it is no dry run; RP301 when it is no
longer held.';

revoke all on function replay.roll_back_items from public;
grant execute on function replay.roll_back_items to replay_processor;
