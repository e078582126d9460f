create or replace function replay._failures_in(
  p_host_id uuid,
  p_projection_id int,
  p_transaction_ids text[],
  p_scopes jsonb
)
  returns setof uuid
  language sql
  stable
begin atomic
  with scope as (
    select d.scope_type, d.scope_key
    from replay.deferred_scope d
    where d.host_id = p_host_id and d.projection_id = p_projection_id
      and d.transaction_id = any (p_transaction_ids)
    union
    select c.scope_type, c.scope_key
    from jsonb_to_recordset(p_scopes) c (scope_type text, scope_key text)
  )
  select distinct f.failure_id
  from scope s
  -- By the index for each, which `offset 0` makes sure of.
  cross join lateral (
    select x.failure_id
    from replay.failure_scope x
    where (x.host_id, x.scope_type, x.scope_key, x.projection_id)
        = (p_host_id, s.scope_type, s.scope_key, p_projection_id)
      and x.is_open and x.scope_type <> 'TRANSACTION'
    offset 0) f;
end;

comment on function replay._failures_in is
'The OPEN failures that hold a scope of these deferred transactions, or one of these scopes.';

revoke all on function replay._failures_in from public;
