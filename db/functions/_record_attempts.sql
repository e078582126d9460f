create or replace function replay._record_attempts(
  p_request replay.request,
  p_failures jsonb,
  p_done int[],
  p_result text
)
  returns void
  language sql
  volatile
begin atomic
  insert into replay.attempt (host_id, request_id, item_no, fence, result, ended_at)
  select p_request.host_id, p_request.request_id, d.item_no, p_request.fence, p_result,
    replay._now()
  from unnest(p_done) d (item_no);

  insert into replay.attempt (host_id, request_id, item_no, fence, result, error_code, error_text,
    error_handler, error_line, error_constraint, error_table, error_column, ended_at)
  select p_request.host_id, p_request.request_id, r.ord, p_request.fence, 'FAILED', r.error_code,
    left(r.error_text, 1000), r.error_handler, r.error_line, r.error_constraint, r.error_table,
    r.error_column, replay._now()
  from jsonb_populate_recordset(null::replay.error_report, p_failures) r;

  update replay.request_item i
  set status = a.result
  from (
    select d.item_no, p_result as result
    from unnest(p_done) d (item_no)
    union all
    select r.ord, 'FAILED'
    from jsonb_populate_recordset(null::replay.error_report, p_failures) r
  ) a
  where (i.host_id, i.request_id, i.item_no)
      = (p_request.host_id, p_request.request_id, a.item_no)
    and i.status = 'PENDING' and a.result <> 'ABANDONED';
end;

comment on function replay._record_attempts is
'Write the attempts of a chunk: p_result for the items done, FAILED with its error for the other.';

revoke all on function replay._record_attempts from public;
