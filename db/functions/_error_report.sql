create or replace function replay._error_report(
  p_handlers jsonb, p_event replay.batch_event, p_error replay.error_report
)
  returns replay.error_report
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_error replay.error_report := p_error;
begin
  v_error.ord := p_event.ord;
  v_error.error_handler := (
    select h.function
    from jsonb_to_recordset(p_handlers) h (event_type text, event_schema text, function text)
    where (h.event_type, h.event_schema) = (p_event.event_type, p_event.event_schema));
  if v_error.error_handler is null then
    v_error.error_code := 'HANDLER_MISSING';
    v_error.error_text := format('no handler for %s (schema %s)', p_event.event_type,
      p_event.event_schema);
  elsif v_error.error_code = 'RP013' then
    v_error.error_code := 'HANDLER_CONTRACT';
  end if;
  v_error.error_constraint := nullif(v_error.error_constraint, '');
  v_error.error_table := nullif(v_error.error_table, '');
  v_error.error_column := nullif(v_error.error_column, '');
  return v_error;
end;
$$;

comment on function replay._error_report is
'What is kept of an error that the handler of an event raised, or of there being none: nothing that
could quote a payload. p_handlers: as for run_batch.';

revoke all on function replay._error_report from public;
grant execute on function replay._error_report to replay_processor;
