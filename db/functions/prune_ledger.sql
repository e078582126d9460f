create or replace function replay.prune_ledger(
  p_projection text,
  p_consumer_group text,
  p_host_id uuid,
  p_older_than interval,
  p_limit int default 10000
)
  returns bigint
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_projection_id int := replay._projection_id(p_projection, p_consumer_group);
  v_count bigint;
begin
  perform replay._check_host(p_host_id);
  perform replay._check_pruning(p_older_than, p_limit);
  -- The bound first: what is removed behind it can be told from what never came.
  update replay.position p
  set ledger_bound = greatest(p.ledger_bound, (
    select max(o.source_offset)
    from replay.outbox o
    join replay.transaction t on (t.host_id, t.transaction_id) = (o.host_id, o.transaction_id)
    where (o.host_id, o.lane) = (p.host_id, p.lane) and o.source_offset <= p.last_offset
      and t.appended_at < replay._now() - p_older_than))
  where p.host_id = p_host_id and p.projection_id = v_projection_id;

  delete from replay.ledger l
  where (l.host_id, l.projection_id, l.transaction_id) in (
    select x.host_id, x.projection_id, x.transaction_id
    from replay.ledger x
    join replay.outbox o on (o.host_id, o.transaction_id) = (x.host_id, x.transaction_id)
    join replay.position p
      on (p.host_id, p.projection_id, p.lane) = (x.host_id, x.projection_id, o.lane)
    where x.host_id = p_host_id and x.projection_id = v_projection_id
      and o.source_offset <= p.ledger_bound
    limit p_limit);
  get diagnostics v_count = row_count;
  perform replay._audit(p_host_id, 'LEDGER_PRUNED', p_projection_id => v_projection_id,
    p_detail => jsonb_build_object('older_than', p_older_than, 'row_count', v_count));
  return v_count;
end;
$$;

comment on function replay.prune_ledger is
'Remove from the ledger which unordered transactions a projection has applied; return how many rows.
A bound is set first: such a transaction that comes again from before it is evidence (BEFORE_LEDGER)
and never applied twice. Call it again until it is 0.

p_older_than: since when they were appended. p_limit: rows, 1 to 10000.
Raises RP001 when an argument is out of bounds; RP101 when the projection is not registered.';

revoke all on function replay.prune_ledger from public;
grant execute on function replay.prune_ledger to replay_operator;
