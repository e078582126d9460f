create or replace function replay._aggregate_key(p_aggregate_type text, p_aggregate_id text)
  returns text
  language sql
  immutable
  return p_aggregate_type || ':' || p_aggregate_id;

comment on function replay._aggregate_key is
'Encode the key of an AGGREGATE scope. A type holds no colon, so no two aggregates share a key.';

revoke all on function replay._aggregate_key from public;
