create or replace function replay._drifted_facts(p_request replay.request, p_items int[])
  returns table (item_no int, failure_id uuid, fact text)
  language sql
  volatile
begin atomic
  with item as (
    select i.item_no, i.fingerprint as planned, f.*
    from replay.request_item i
    join replay.failure f on (f.host_id, f.failure_id) = (i.host_id, i.failure_id)
    where (i.host_id, i.request_id) = (p_request.host_id, p_request.request_id)
      and i.item_no = any (p_items)
  )
  select i.item_no, i.failure_id, 'failure is ' || i.status
  from item i
  where i.status <> 'OPEN'
  union all
  select i.item_no, i.failure_id, 'fingerprint'
  from item i
  join replay.projection p on p.projection_id = i.projection_id
  cross join lateral (
    -- Digests are computed anew from the bytes: what runs is what was captured.
    select array_agg(m.event_id order by m.ordinal) as event_ids,
      array_agg(sha256(m.payload) order by m.ordinal) as digests
    from replay.failure_member m
    where (m.host_id, m.failure_id) = (i.host_id, i.failure_id)) m
  where i.planned <> i.fingerprint
    or replay._fingerprint(i.host_id, p.projection, p.consumer_group, i.transaction_id,
      m.event_ids, m.digests) is distinct from i.fingerprint
  union all
  select i.item_no, i.failure_id, 'progress of ' || s.scope_type || ' ' || s.scope_key
  from item i
  join replay.failure_scope s on (s.host_id, s.failure_id) = (i.host_id, i.failure_id)
  left join replay.progress p
    on (p.host_id, p.projection_id, p.scope_type, p.scope_key)
      = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
  where s.scope_type <> 'TRANSACTION' and coalesce(p.version, 0) <> s.first_version - 1;
end;

comment on function replay._drifted_facts is
'Which facts of some items no longer are what the plan was approved on: status, fingerprint over the
kept bytes, progress of each scope.';

revoke all on function replay._drifted_facts from public;
