create or replace function replay._batch_scopes(p_items replay.batch_item[])
  returns replay.batch_scope[]
  language sql
  volatile
begin atomic
  select array_agg(row(
    i.ord, i.host_id, s.scope_type, s.scope_key, s.first_version, s.last_version,
    coalesce(p.version, 0), b.scope_key is not null,
    coalesce(failed.transaction_id, waiting.transaction_id))::replay.batch_scope)
  from unnest(p_items) i
  cross join unnest(i.scopes) s
  left join replay.progress p
    on (p.host_id, p.projection_id, p.scope_type, p.scope_key)
      = (i.host_id, i.projection_id, s.scope_type, s.scope_key)
  left join replay.barrier b
    on (b.host_id, b.projection_id, b.scope_type, b.scope_key)
      = (i.host_id, i.projection_id, s.scope_type, s.scope_key)
  left join lateral (
    select f.transaction_id
    from replay.failure_scope x
    join replay.failure f on (f.host_id, f.failure_id) = (x.host_id, x.failure_id)
    where (x.host_id, x.scope_type, x.scope_key, x.projection_id)
      = (i.host_id, s.scope_type, s.scope_key, i.projection_id)
      and x.is_open and x.scope_type <> 'TRANSACTION'
      and x.first_version <= s.last_version and x.last_version >= s.first_version
      and f.transaction_id <> i.transaction_id
  ) failed on true
  left join lateral (
    -- Ranges of deferred transactions never overlap, so the nearest one below tells.
    select n.transaction_id
    from (
      select x.transaction_id, x.last_version
      from replay.deferred_scope x
      where (x.host_id, x.projection_id, x.scope_type, x.scope_key)
        = (i.host_id, i.projection_id, s.scope_type, s.scope_key)
        and x.first_version <= s.last_version and x.transaction_id <> i.transaction_id
      order by x.first_version desc
      limit 1) n
    where n.last_version >= s.first_version
  ) waiting on true
  where s.scope_type <> 'TRANSACTION';
end;

comment on function replay._batch_scopes is
'The ordered scopes of the items with what the decision needs to know. To be called in a statement
of its own, behind the scope locks.';

revoke all on function replay._batch_scopes from public;
