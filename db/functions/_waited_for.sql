create or replace function replay._waited_for(
  p_host_id uuid,
  p_projection_id int,
  p_transaction_ids text[],
  p_scopes jsonb
)
  returns setof text
  language sql
  stable
begin atomic
  with recursive walk (transaction_id) as (
    (
      select c.transaction_id from unnest(p_transaction_ids) c (transaction_id)
      union
      select last.transaction_id
      from jsonb_to_recordset(p_scopes) c (scope_type text, scope_key text)
      cross join lateral (
        select d.transaction_id
        from replay.deferred_scope d
        where (d.host_id, d.projection_id, d.scope_type, d.scope_key)
          = (p_host_id, p_projection_id, c.scope_type, c.scope_key)
        order by d.first_version desc
        limit 1) last
    )
    union
    -- One step back in each scope, not all at once: a chain of n takes n steps, not n * n rows.
    select before.transaction_id
    from walk w
    -- By the index for each, which `offset 0` makes sure of: a join might read the whole table in
    -- every step.
    cross join lateral (
      select x.scope_type, x.scope_key, x.first_version
      from replay.deferred_scope x
      where (x.host_id, x.projection_id, x.transaction_id)
        = (p_host_id, p_projection_id, w.transaction_id)
      offset 0) s
    cross join lateral (
      select d.transaction_id
      from replay.deferred_scope d
      where (d.host_id, d.projection_id, d.scope_type, d.scope_key)
        = (p_host_id, p_projection_id, s.scope_type, s.scope_key)
        and d.first_version < s.first_version
      order by d.first_version desc
      limit 1) before
  )
  select w.transaction_id from walk w;
end;

comment on function replay._waited_for is
'The deferred transactions that stand before the chosen ones, transitively over all scopes, and
these themselves. A chosen scope stands for all that is deferred in it.';

revoke all on function replay._waited_for from public;
