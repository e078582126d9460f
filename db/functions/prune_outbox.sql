create or replace function replay.prune_outbox(
  p_host_id uuid, p_older_than interval, p_limit int default 10000
)
  returns bigint
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_count bigint;
begin
  perform replay._check_host(p_host_id);
  perform replay._check_pruning(p_older_than, p_limit);
  -- Nobody registers or starts a projection meanwhile, which would miss what is removed.
  lock table replay.projection in share mode;
  perform from replay.outbox_lane l where l.host_id = p_host_id order by l.lane for no key update;
  update replay.outbox_lane l
  set pruned_offset = b.pruned_offset
  from replay._prunable(p_host_id, replay._now() - p_older_than, p_limit) b
  where (l.host_id, l.lane) = (p_host_id, b.lane) and b.pruned_offset > l.pruned_offset;

  delete from replay.outbox o
  using replay.outbox_lane l
  where (l.host_id, l.lane) = (o.host_id, o.lane)
    and o.host_id = p_host_id and o.source_offset <= l.pruned_offset;
  get diagnostics v_count = row_count;
  perform replay._audit(p_host_id, 'OUTBOX_PRUNED', p_detail =>
    jsonb_build_object('older_than', p_older_than, 'row_count', v_count));
  return v_count;
end;
$$;

comment on function replay.prune_outbox is
'Remove from the outbox what every projection in use has read; return how many rows. The events stay
in the event store. Later no projection can start at the BEGINNING. Call it again until it is 0.

p_older_than: since when they were appended. p_limit: rows of each lane, 1 to 10000.
Raises RP001 when an argument is out of bounds.';

revoke all on function replay.prune_outbox from public;
grant execute on function replay.prune_outbox to replay_operator;
