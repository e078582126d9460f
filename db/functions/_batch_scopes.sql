create or replace function replay._batch_scopes(p_items replay.batch_item[])
  returns replay.batch_scope[]
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  -- Subqueries, not joins: a probe of an index each, at any size of the tables.
  return array(
    select row(i.ord, i.host_id, s.scope_type, s.scope_key, s.first_version, s.last_version,
      coalesce((
        select p.version
        from replay.progress p
        where (p.host_id, p.projection_id, p.scope_type, p.scope_key)
          = (i.host_id, i.projection_id, s.scope_type, s.scope_key)), 0),
      (
        select true
        from replay.barrier b
        where (b.host_id, b.projection_id, b.scope_type, b.scope_key)
          = (i.host_id, i.projection_id, s.scope_type, s.scope_key)) is not null,
      coalesce((
        select f.transaction_id
        from replay.failure_scope x
        join replay.failure f on (f.host_id, f.failure_id) = (x.host_id, x.failure_id)
        where (x.host_id, x.scope_type, x.scope_key, x.projection_id)
          = (i.host_id, s.scope_type, s.scope_key, i.projection_id)
          and x.is_open and x.scope_type <> 'TRANSACTION'
          and x.first_version <= s.last_version and x.last_version >= s.first_version
          and f.transaction_id <> i.transaction_id
      ), (
        -- Ranges of deferred transactions never overlap, so the nearest one below tells.
        select case when n.last_version >= s.first_version then n.transaction_id end
        from replay.deferred_scope n
        where (n.host_id, n.projection_id, n.scope_type, n.scope_key)
          = (i.host_id, i.projection_id, s.scope_type, s.scope_key)
          and n.first_version <= s.last_version and n.transaction_id <> i.transaction_id
        order by n.first_version desc
        limit 1)))::replay.batch_scope
    from unnest(p_items) i
    cross join unnest(i.scopes) s
    where s.scope_type <> 'TRANSACTION');
end;
$$;

comment on function replay._batch_scopes is
'The ordered scopes of the items with what the decision needs to know. To be called in a statement
of its own, behind the scope locks.';

revoke all on function replay._batch_scopes from public;
