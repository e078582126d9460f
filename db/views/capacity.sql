create view replay.capacity with (security_barrier) as
select
  a.host_id,
  a.failure_count,
  a.byte_count,
  a.soft_limit,
  a.hard_limit,
  case
    when a.byte_count >= a.hard_limit then 'FULL'
    when a.byte_count >= a.soft_limit then 'SOFT_LIMIT'
    else 'OK'
  end as state
from replay.archive a
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = a.host_id
);

comment on view replay.capacity is
'How much is kept of the failures of each host. Hosts without any have no row. Overall: sum it.';
comment on column replay.capacity.byte_count is 'Bytes of payload.';
comment on column replay.capacity.state is
'OK; SOFT_LIMIT: make room; FULL: the sources of the host stand still.';

grant select on replay.capacity to replay_reader;
