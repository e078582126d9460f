create or replace function replay._waiting_items(p_scopes replay.batch_scope[], p_excluded int[])
  returns int[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_waiting int[] := array[]::int[];
  v_more int[];
begin
  loop
    v_more := array(
      select distinct x.ord
      from (
        select s.ord, s.first_version - s.progress - 1 as missing,
          coalesce(sum(s.last_version - s.first_version + 1) over behind, 0) as supplied,
          coalesce(max(s.ord) over behind, 0) as last_supplier
        from unnest(p_scopes) s
        where s.ord <> all (p_excluded) and s.ord <> all (v_waiting)
        window behind as (
          partition by s.host_id, s.scope_type, s.scope_key order by s.first_version, s.ord
          rows between unbounded preceding and 1 preceding)
      ) x
      where x.missing <> x.supplied or x.last_supplier > x.ord);
    exit when v_more = '{}';
    v_waiting := v_waiting || v_more;
  end loop;
  return v_waiting;
end;
$$;

comment on function replay._waiting_items is
'The items that are not next, each item taking the earlier ones of the batch into account.

An item is next when in each of its scopes the versions between progress and its own are supplied
by earlier items that are next themselves. We start from all and take away, until nothing changes:
taking one away never makes another one next, so this is what deciding one by one would give. A
chain in one scope falls in one round; only chains across scopes take more.';

revoke all on function replay._waiting_items from public;
