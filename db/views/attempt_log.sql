create view replay.attempt_log with (security_barrier) as
select
  a.host_id,
  a.request_id,
  a.item_no,
  a.fence,
  p.projection,
  p.consumer_group,
  i.failure_id,
  f.transaction_id,
  r.mode,
  a.result,
  a.error_code,
  a.error_text,
  a.error_handler,
  a.error_line,
  a.error_constraint,
  a.error_table,
  a.error_column,
  n.claimed_by,
  a.ended_at
from replay.attempt a
join replay.run n on (n.host_id, n.request_id, n.fence) = (a.host_id, a.request_id, a.fence)
join replay.request r on (r.host_id, r.request_id) = (a.host_id, a.request_id)
join replay.projection p on p.projection_id = r.projection_id
join replay.request_item i
  on (i.host_id, i.request_id, i.item_no) = (a.host_id, a.request_id, a.item_no)
join replay.failure f on (f.host_id, f.failure_id) = (i.host_id, i.failure_id)
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = a.host_id
);

comment on view replay.attempt_log is 'Each try of each item of a replay, and how it ended.';
comment on column replay.attempt_log.fence is 'The run it was part of.';
comment on column replay.attempt_log.result is
'SUCCEEDED, FAILED, ROLLED_BACK (a dry run), ABANDONED (its holder died).';

grant select on replay.attempt_log to replay_reader;
