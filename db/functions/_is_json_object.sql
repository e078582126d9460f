create or replace function replay._is_json_object(p_text text)
  returns boolean
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  return jsonb_typeof(p_text::jsonb) = 'object';
exception when data_exception or program_limit_exceeded then
  return false;
end;
$$;

comment on function replay._is_json_object is 'Tell whether a text is a JSON object.';

revoke all on function replay._is_json_object from public;
