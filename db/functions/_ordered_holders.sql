create or replace function replay._ordered_holders(p_event_types text[])
  returns table (host_id uuid, transaction_id text, event_type text)
  language sql
  volatile
begin atomic
  with held as (
    select f.host_id, f.transaction_id
    from replay.failure f
    where f.status = 'OPEN'
    union
    select d.host_id, d.transaction_id
    from replay.deferred d
    union
    select o.host_id, o.transaction_id
    from replay.projection p
    cross join replay.outbox_lane l
    left join replay.position s
      on (s.host_id, s.projection_id, s.lane) = (l.host_id, p.projection_id, l.lane)
    join replay.outbox o on (o.host_id, o.lane) = (l.host_id, l.lane)
      and o.source_offset > coalesce(s.last_offset, 0)
    where p.status in ('RUNNING', 'PAUSED') and l.last_offset > coalesce(s.last_offset, 0)
  )
  select e.host_id, e.transaction_id, e.event_type
  from held h
  join replay.transaction t on (t.host_id, t.transaction_id) = (h.host_id, h.transaction_id)
  join replay.event e on (e.host_id, e.transaction_id) = (t.host_id, t.transaction_id)
  where e.event_type = any (p_event_types)
    and exists (select from unnest(t.scopes) s where s.scope_type <> 'TRANSACTION');
end;

comment on function replay._ordered_holders is
'Transactions of an aggregate or graph, with a member of these types, that are OPEN failures,
deferred, or not read by a projection in use.';

revoke all on function replay._ordered_holders from public;
