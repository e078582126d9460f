create view replay.open_failure with (security_barrier) as
select
  f.host_id,
  f.failure_id,
  p.projection,
  p.consumer_group,
  f.transaction_id,
  f.captured_at,
  replay._now() - f.captured_at as age,
  f.replayable,
  f.member_count,
  f.byte_count,
  array(
    select concat_ws(' ', s.scope_type, s.scope_key, '@' || s.first_version)
    from replay.failure_scope s
    where (s.host_id, s.failure_id) = (f.host_id, f.failure_id)
    order by s.scope_type, s.scope_key
  ) as scopes,
  f.error_code,
  f.error_text,
  f.error_handler,
  f.error_line,
  f.error_constraint,
  f.error_table,
  f.error_column,
  f.lane,
  f.source_offset
from replay.failure f
join replay.projection p on p.projection_id = f.projection_id
where f.status = 'OPEN' and exists (
  select from replay.own_host own where own.host_id is null or own.host_id = f.host_id
);

comment on view replay.open_failure is
'Failed transactions that nobody has brought back yet. Each holds its scopes: it is quarantined.';
comment on column replay.open_failure.replayable is
'False: a member is excluded from replay by its policy or side effects.';
comment on column replay.open_failure.scopes is 'Scope type, key and first version of each scope.';
comment on column replay.open_failure.error_code is
'SQLSTATE, exception class, or HANDLER_MISSING, HANDLER_TIMEOUT, HANDLER_CONTRACT,
HANDLER_CRASHED.';
comment on column replay.open_failure.error_text is 'What the handler said in a SafeError.';

grant select on replay.open_failure to replay_reader;
