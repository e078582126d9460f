create or replace function replay._waiting_behind(
  p_host_id uuid,
  p_projection_id int,
  p_failure_ids uuid[]
)
  returns setof text
  language sql
  stable
begin atomic
  with recursive walk (transaction_id) as (
    select first.transaction_id
    from unnest(p_failure_ids) c (failure_id)
    join replay.failure_scope s on (s.host_id, s.failure_id) = (p_host_id, c.failure_id)
    cross join lateral (
      select d.transaction_id
      from replay.deferred_scope d
      where (d.host_id, d.projection_id, d.scope_type, d.scope_key)
        = (p_host_id, p_projection_id, s.scope_type, s.scope_key)
        and s.is_open
      order by d.first_version
      limit 1) first
    union
    select behind.transaction_id
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
        and d.first_version > s.first_version
      order by d.first_version
      limit 1) behind
  )
  select w.transaction_id from walk w;
end;

comment on function replay._waiting_behind is
'The deferred transactions that wait for these OPEN failures, directly or through others.';

revoke all on function replay._waiting_behind from public;
