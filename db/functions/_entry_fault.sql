create or replace function replay._entry_fault(p_entry jsonb)
  returns text
  language sql
  immutable
  return case
    when jsonb_typeof(p_entry) <> 'object' then 'it is no object'
    when exists (select from jsonb_object_keys(p_entry) k (name) where k.name <> all (array[
      'event_type', 'event_schema', 'policy', 'data_schema', 'repair_disposition',
      'repair_schema_version', 'side_effects'])) then 'it has an unknown key'
    when exists (select from jsonb_each(p_entry) a
      where jsonb_typeof(a.value) <> 'string'
        and (jsonb_typeof(a.value) <> 'null'
          or a.key not in ('data_schema', 'repair_schema_version')))
      then 'a value is no text'
    when exists (
      select from unnest(array['event_type', 'event_schema', 'repair_schema_version']) a (name)
      where octet_length(p_entry ->> a.name) not between 1 and 512
        or p_entry ->> a.name ~ '[\u0001-\u001f\u007f-\u009f]'
        or p_entry ->> a.name is null and a.name <> 'repair_schema_version')
      then 'a name is missing, too long or holds control characters'
    when coalesce(p_entry ->> 'policy', '') not in
      ('GRAPH_ROOT', 'AGGREGATE_VERSION', 'TRANSACTION_ONLY', 'NOT_REPLAYABLE')
      then 'there is no such policy'
    when coalesce(p_entry ->> 'repair_disposition', '') not in
      ('SCHEMA_REPAIR', 'FIX_AND_EXACT_REPLAY_ONLY', 'NOT_REPAIRABLE_UNORDERED')
      then 'there is no such repair disposition'
    when coalesce(p_entry ->> 'side_effects', '') not in ('NONE', 'REPLAY_EXCLUDED')
      then 'there are no such side effects'
    when p_entry ->> 'policy' in ('GRAPH_ROOT', 'AGGREGATE_VERSION')
      and (p_entry ->> 'repair_disposition' = 'NOT_REPAIRABLE_UNORDERED'
        or p_entry ->> 'side_effects' = 'REPLAY_EXCLUDED')
      then 'an ordered event has to be replayable and repairable'
    when p_entry ->> 'data_schema' is not null
      and not replay._is_json_object(p_entry ->> 'data_schema')
      then 'its data schema is no JSON object'
    when p_entry ->> 'repair_disposition' = 'SCHEMA_REPAIR'
      and (p_entry ->> 'data_schema' is null or p_entry ->> 'repair_schema_version' is null)
      then 'SCHEMA_REPAIR needs a data schema and a repair schema version'
    when p_entry ->> 'repair_disposition' <> 'SCHEMA_REPAIR'
      and p_entry ->> 'repair_schema_version' is not null
      then 'only SCHEMA_REPAIR has a repair schema version'
  end;

comment on function replay._entry_fault is
'Say what is wrong with an entry to be published; null when nothing is.

An ordered event that could never be replayed or repaired would block its scope for ever.';

revoke all on function replay._entry_fault from public;
