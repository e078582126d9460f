create or replace function replay.remove_payloads(
  p_host_id uuid, p_older_than interval, p_limit int default 1000
)
  returns replay.removal
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_failure_ids uuid[];
  v_removal replay.removal;
begin
  perform replay._check_host(p_host_id);
  perform replay._check_pruning(p_older_than, p_limit);
  v_failure_ids := array(
    select f.failure_id
    from replay.failure f
    where f.host_id = p_host_id and f.status <> 'OPEN' and f.removed_at is null
      and f.resolved_at < replay._now() - p_older_than
      and not exists (
        select from replay.legal_hold h
        where h.host_id = f.host_id and h.released_at is null
          and (h.failure_id is null or h.failure_id = f.failure_id))
    order by f.resolved_at
    limit p_limit
    for no key update of f skip locked);

  v_removal := replay._remove_members(p_host_id, v_failure_ids);
  perform replay._audit(p_host_id, 'PAYLOADS_REMOVED', p_detail => to_jsonb(v_removal)
    || jsonb_build_object('older_than', p_older_than));
  return v_removal;
end;
$$;

comment on function replay.remove_payloads is
'Remove the payloads that are kept with failures which were resolved or waived before a time. The
failures stay, with the digests of what was removed; events stay in the event store. Never those of
an OPEN failure, or under a legal hold. Call it again until failure_count is 0.

p_older_than: since when they have not been OPEN. p_limit: failures, 1 to 10000.
Raises RP001 when an argument is out of bounds.';

revoke all on function replay.remove_payloads from public;
grant execute on function replay.remove_payloads to replay_operator;
