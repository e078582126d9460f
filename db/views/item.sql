create view replay.item with (security_barrier) as
select
  i.host_id,
  i.request_id,
  i.item_no,
  i.failure_id,
  f.transaction_id,
  i.status,
  f.status as failure_status,
  a.attempt_count,
  a.last_fence,
  l.error_code,
  l.error_text,
  l.error_handler,
  l.error_line,
  l.ended_at
from replay.request_item i
join replay.failure f on (f.host_id, f.failure_id) = (i.host_id, i.failure_id)
cross join lateral (
  select
    count(*)::int as attempt_count,
    max(x.fence) as last_fence
  from replay.attempt x
  where (x.host_id, x.request_id, x.item_no) = (i.host_id, i.request_id, i.item_no)
) a
left join replay.attempt l
  on (l.host_id, l.request_id, l.item_no, l.fence)
    = (i.host_id, i.request_id, i.item_no, a.last_fence)
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = i.host_id
);

comment on view replay.item is
'The items of replay requests, how often each was tried and how its last try ended.';
comment on column replay.item.item_no is 'Its place in the plan, from 1.';
comment on column replay.item.failure_status is
'Of the failure now. Still OPEN with an item that is not done: quarantined.';
comment on column replay.item.last_fence is 'The run of the last try; null: not tried yet.';

grant select on replay.item to replay_reader;
