create or replace function replay._waiver_impact(p_host_id uuid, p_failure_ids uuid[])
  returns jsonb
  language sql
  volatile
begin atomic
  select jsonb_build_object(
    'failure_ids', p_failure_ids,
    'transaction_ids', array_agg(f.transaction_id order by f.failure_id),
    'member_count', sum(f.member_count),
    -- What other projections have of the same transactions stays as it is.
    'open_elsewhere_count', (
      select count(*)
      from replay.failure o
      where o.host_id = p_host_id and o.transaction_id = any (array_agg(f.transaction_id))
        and o.status = 'OPEN' and o.failure_id <> all (p_failure_ids)),
    -- Plans that hold one of them can no longer be executed: STALE_PLAN.
    'stale_request_ids', array(
      select distinct i.request_id
      from replay.request_item i
      join replay.request r on (r.host_id, r.request_id) = (i.host_id, i.request_id)
      where i.host_id = p_host_id and i.failure_id = any (p_failure_ids)
        and r.status in ('READY', 'AWAITING_APPROVAL', 'APPROVED', 'INSTALLING_BARRIER', 'RUNNING')
      order by i.request_id))
  from replay.failure f
  where f.host_id = p_host_id and f.failure_id = any (p_failure_ids);
end;

comment on function replay._waiver_impact is
'What waiving these failures would do: which transactions are given up, which plans become stale,
and how often the same transactions are OPEN in other projections.';

revoke all on function replay._waiver_impact from public;
