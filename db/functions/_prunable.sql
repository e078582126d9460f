create or replace function replay._prunable(p_host_id uuid, p_before timestamptz, p_limit int)
  returns table (lane int, pruned_offset bigint)
  language sql
  volatile
begin atomic
  select l.lane, max(o.source_offset)
  from replay.outbox_lane l
  cross join lateral (
    -- A projection without a position there has read nothing.
    select min(coalesce(s.last_offset, 0)) as last_offset
    from replay.projection p
    left join replay.position s
      on (s.host_id, s.projection_id, s.lane) = (l.host_id, p.projection_id, l.lane)
    where p.status <> 'RETIRED'
  ) r
  cross join lateral (
    select x.source_offset, bool_and(t.appended_at < p_before)
      over (order by x.source_offset) as is_old
    from replay.outbox x
    join replay.transaction t on (t.host_id, t.transaction_id) = (x.host_id, x.transaction_id)
    where (x.host_id, x.lane) = (l.host_id, l.lane) and x.source_offset <= r.last_offset
    order by x.source_offset
    limit p_limit
  ) o
  where l.host_id = p_host_id and o.is_old
  group by l.lane;
end;

comment on function replay._prunable is
'Up to which offset each lane of a host may be pruned: what every projection that is not retired has
read, and what is as old, without a hole.';

revoke all on function replay._prunable from public;
