create or replace function replay._blame_event(
  p_handlers jsonb,
  p_error replay.error_report,
  p_first int,
  p_count int,
  p_out int[]
)
  returns replay.error_report
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_error replay.error_report := p_error;
  v_event record;
begin
  select e.ord, e.event_type, e.event_schema into v_event
  from replay.batch_event e
  where e.ord >= p_first and e.ord <> all (p_out)
  order by e.ord, e.ordinal
  offset p_count limit 1;

  v_error.ord := v_event.ord;
  v_error.error_handler := (
    select h.function
    from jsonb_to_recordset(p_handlers) h (event_type text, event_schema text, function text)
    where (h.event_type, h.event_schema) = (v_event.event_type, v_event.event_schema));
  if p_error.error_text is null and p_error.error_code = 'RP013' then
    v_error.error_code := 'HANDLER_CONTRACT';
  end if;
  if p_error.error_text is not null then
    v_error.error_code := 'HANDLER_MISSING';
    v_error.error_text := format('no handler for %s (schema %s)', v_event.event_type,
      v_event.event_schema);
  end if;
  v_error.error_constraint := nullif(v_error.error_constraint, '');
  v_error.error_table := nullif(v_error.error_table, '');
  v_error.error_column := nullif(v_error.error_column, '');
  return v_error;
end;
$$;

comment on function replay._blame_event is
'The error report of the event behind the first p_count that were called, of the items from p_first
on but for those in p_out.';

revoke all on function replay._blame_event from public;
grant execute on function replay._blame_event to replay_processor;
