create or replace function replay._read_woken(p_positions replay.position[], p_limit int)
  returns table (
    host_id uuid, projection_id int, transaction_id text, lane int, source_offset bigint, place bigint
  )
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  return query
  with woken as materialized (
    select w.host_id, w.projection_id, w.lane, w.transaction_id, count(*) over () as woken_count
    from unnest(p_positions) p
    cross join lateral (
      select x.*
      from replay.wake x
      where (x.host_id, x.projection_id, x.lane) = (p.host_id, p.projection_id, p.lane)
      limit p_limit) w
    limit p_limit
  ),
  -- What is right behind a woken transaction comes along: it is next as soon as that one is
  -- applied, in this very batch.
  chain as (
    select w.host_id, w.projection_id, w.lane, c.transaction_id, max(c.place) as place
    from woken w
    join replay.deferred_scope s
      on (s.host_id, s.projection_id, s.transaction_id)
        = (w.host_id, w.projection_id, w.transaction_id)
    cross join lateral (
      select x.transaction_id, row_number() over (order by x.first_version) as place
      from replay.deferred_scope x
      where (x.host_id, x.projection_id, x.scope_type, x.scope_key)
        = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
        and x.first_version >= s.first_version
      order by x.first_version
      limit greatest(2, p_limit / w.woken_count)) c
    group by w.host_id, w.projection_id, w.lane, c.transaction_id
  )
  select d.host_id, d.projection_id, d.transaction_id, d.lane, d.source_offset, c.place
  from chain c
  join replay.deferred d
    on (d.host_id, d.projection_id, d.transaction_id, d.lane)
      = (c.host_id, c.projection_id, c.transaction_id, c.lane)
  order by c.place, d.source_offset
  limit p_limit;
end;
$$;

comment on function replay._read_woken is
'Deferred transactions of the claimed positions that may be next now, and those that follow them,
in version order per scope.';

revoke all on function replay._read_woken from public;
