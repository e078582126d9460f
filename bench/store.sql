-- Store what is in bench.piece as if it had been appended, in sets. Only for events of aggregates.
create temporary table member as
select p.host_id, p.place, p.transaction_id, p.ordinal, p.payload, j.event ->> 'id' as event_id,
  j.event ->> 'type' as event_type, j.event ->> 'eventschema' as event_schema,
  replay._aggregate_key(j.event ->> 'aggregatetype', j.event ->> 'subject') as scope_key,
  (j.event ->> 'aggregateversion')::bigint as version
from bench.piece as p
cross join lateral (select convert_from(p.payload, 'UTF8')::jsonb) as j (event);

insert into replay.transaction (host_id, transaction_id, registry_version, member_count,
  byte_count, runs_alone, scopes, appended_at, appended_by)
select s.host_id, s.transaction_id, (select max(r.registry_version) from replay.registry as r),
  sum(s.member_count), sum(s.byte_count), false,
  array_agg(row('AGGREGATE', s.scope_key, s.first_version, s.last_version)::replay.scope_range
    order by s.scope_key collate "C"),
  replay._now(), session_user
from (
  select m.host_id, m.transaction_id, m.scope_key, min(m.version) as first_version,
    max(m.version) as last_version, count(*) as member_count,
    sum(octet_length(m.payload)) as byte_count
  from member as m
  group by m.host_id, m.transaction_id, m.scope_key
) as s
group by s.host_id, s.transaction_id;

insert into replay.event (host_id, transaction_id, ordinal, event_id, event_type, event_schema,
  payload)
select m.host_id, m.transaction_id, m.ordinal, m.event_id, m.event_type, m.event_schema, m.payload
from member as m
order by m.place, m.host_id, m.ordinal;

insert into replay.stream_head (host_id, scope_type, scope_key, version)
select m.host_id, 'AGGREGATE', m.scope_key, max(m.version)
from member as m
group by m.host_id, m.scope_key;

insert into replay.outbox (host_id, lane, source_offset, transaction_id)
select m.host_id, 0, row_number() over (partition by m.host_id order by m.place), m.transaction_id
from member as m
where m.ordinal = 0;

insert into replay.outbox_lane (host_id, lane, last_offset)
select m.host_id, 0, count(*)
from member as m
where m.ordinal = 0
group by m.host_id;

drop table member;
truncate bench.piece;

insert into bench.plain (transaction_no, ordinal, host_id, payload)
select t.transaction_no, e.ordinal, e.host_id, e.payload
from (
  select o.host_id, o.transaction_id,
    row_number() over (order by o.source_offset, o.host_id) as transaction_no
  from replay.outbox as o
) as t
join replay.event as e on (e.host_id, e.transaction_id) = (t.host_id, t.transaction_id)
order by t.transaction_no, e.ordinal;
