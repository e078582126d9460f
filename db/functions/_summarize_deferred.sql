create or replace function replay._summarize_deferred(
  p_host_id uuid,
  p_projection_id int,
  p_transaction_ids text[]
)
  returns jsonb
  language sql
  stable
begin atomic
  select coalesce(jsonb_agg(to_jsonb(s) order by s.scope_type, s.scope_key), '[]')
  from (
    select d.scope_type, d.scope_key, min(d.first_version) as first_version,
      max(d.last_version) as last_version, count(*) as transaction_count
    from replay.deferred_scope d
    where d.host_id = p_host_id and d.projection_id = p_projection_id
      and d.transaction_id = any (p_transaction_ids)
    group by d.scope_type, d.scope_key
  ) s;
end;

comment on function replay._summarize_deferred is
'Deferred transactions by scope, as a JSON array: versions and how many.';

revoke all on function replay._summarize_deferred from public;
