create or replace function replay._read_candidates(
  p_positions replay.position[],
  p_limit int,
  p_woken_only boolean
)
  returns replay.batch_item[]
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_excluded text[] := (replay._config()).excluded_event_types;
  v_items replay.batch_item[];
begin
  with woken as (
    select w.* from replay._read_woken(p_positions, (p_limit + 1) / 2) w
  ),
  fresh as (
    select o.host_id, p.projection_id, o.transaction_id, o.lane, o.source_offset,
      row_number() over (partition by o.host_id, o.lane order by o.source_offset) as place
    from unnest(p_positions) p
    cross join lateral (
      select x.*
      from replay.outbox x
      where (x.host_id, x.lane) = (p.host_id, p.lane) and x.source_offset > p.last_offset
      order by x.source_offset
      limit case when p_woken_only then 0 else p_limit end) o
    -- The sources of a host stop when there is no room to keep what fails; its drain does not.
    where not exists (
      select from replay.archive a
      where a.host_id = p.host_id and a.byte_count >= a.hard_limit)
  ),
  candidate as (
    select c.*, t.scopes, t.member_count, t.byte_count,
      t.runs_alone or coalesce((
        select r.crash_count >= 3
        from replay.trial r
        where (r.host_id, r.projection_id, r.transaction_id)
          = (c.host_id, c.projection_id, c.transaction_id)), false)
      or case when v_excluded <> '{}' then (
        -- The limit keeps it from being hashed: from a scan of all events.
        select true
        from replay.event e
        where (e.host_id, e.transaction_id) = (c.host_id, c.transaction_id)
          and e.event_type = any (v_excluded)
        limit 1) is not null else false end as runs_alone,
      row_number() over (
        order by c.was_deferred desc, c.place, c.source_offset, c.host_id, c.lane)::int as ord
    from (
      select w.*, true as was_deferred from woken w
      union all
      select f.*, false from fresh f
    ) c
    cross join lateral (
      select x.*
      from replay.transaction x
      where (x.host_id, x.transaction_id) = (c.host_id, c.transaction_id)
      limit 1) t
  ),
  measured as (
    select c.*, sum(cardinality(c.scopes)) over up_to as scope_count,
      sum(c.byte_count) over up_to as total_bytes, bool_or(c.runs_alone) over up_to as has_loner
    from candidate c
    window up_to as (order by c.ord)
  )
  select array_agg(
    row(pg_current_xact_id(), m.ord, m.projection_id, m.host_id, m.transaction_id, m.lane,
      m.source_offset, m.member_count, m.was_deferred, null, m.scopes, 'APPLY', null, '{}')::replay.batch_item
    order by m.ord)
  into v_items
  from measured m
  where m.ord = 1
    or (m.ord <= p_limit and m.scope_count <= 500 and m.total_bytes <= 16777216
      and not m.has_loner);
  return v_items;
end;
$$;

comment on function replay._read_candidates is
'What a batch may hold, in order: first what is woken (at most half), then the outbox behind the
claimed positions. Cut at p_limit transactions, 500 scopes and 16 MiB; a transaction that runs
alone, has crashed 3 times or has an excluded member, is a batch of its own.';

revoke all on function replay._read_candidates from public;
