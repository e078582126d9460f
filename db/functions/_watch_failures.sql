create or replace function replay._watch_failures(p_xact_id xid8, p_failures jsonb)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  c_window constant int := 250;
  v_streak replay.failure_streak;
begin
  insert into replay.failure_streak as s (projection_id, error_code, failed_count, decided_count)
  select b.projection_id, coalesce(f.error_code, ''), coalesce(f.failed_count, 0), b.decided_count
  from (
    select i.projection_id, count(*) filter (where i.decision in ('APPLY', 'FAIL')) as decided_count
    from replay.batch_item i
    where i.xact_id = p_xact_id
    group by i.projection_id
  ) b
  left join (
    select r.value ->> 'error_code' as error_code, count(*) as failed_count
    from jsonb_array_elements(p_failures) r
    group by 1
    order by 2 desc
    limit 1
  ) f on true
  on conflict (projection_id) do update
  set error_code = case when excluded.failed_count > s.failed_count then excluded.error_code
      else s.error_code end,
    failed_count = case
      when excluded.error_code = s.error_code then s.failed_count + excluded.failed_count
      else greatest(s.failed_count, excluded.failed_count) end,
    decided_count = s.decided_count + excluded.decided_count
  returning * into v_streak;

  if v_streak.decided_count < c_window then
    return;
  end if;
  delete from replay.failure_streak s
  where s.projection_id = v_streak.projection_id;
  if v_streak.failed_count * 2 > v_streak.decided_count then
    perform replay._pause_itself(v_streak);
  end if;
end;
$$;

comment on function replay._watch_failures is
'Count how much of the recent work of a projection failed with one error, and pause it when that is
most of 250 transactions: then it is the handler or the read model that is broken, and the archive
would only fill.';

revoke all on function replay._watch_failures from public;
