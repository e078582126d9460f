create or replace function replay._move_progress(p_xact_id xid8)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_expected bigint;
  v_moved bigint;
begin
  with applied as (
    select b.host_id, b.projection_id, s.scope_type, s.scope_key,
      min(s.first_version) as first_version, max(s.last_version) as last_version,
      -- What failed or was skipped leaves a hole, over which nothing may move.
      sum(s.last_version - s.first_version + 1) = max(s.last_version) - min(s.first_version) + 1
        as is_whole
    from replay.batch_item b cross join unnest(b.scopes) s
    where b.xact_id = p_xact_id and b.decision = 'APPLY' and s.scope_type <> 'TRANSACTION'
    group by b.host_id, b.projection_id, s.scope_type, s.scope_key
  ),
  moved as (
    update replay.progress p
    set version = a.last_version
    from (
      select x.*, (
        select y.ctid
        from replay.progress y
        where (y.host_id, y.projection_id, y.scope_type, y.scope_key)
          = (x.host_id, x.projection_id, x.scope_type, x.scope_key)) as place
      from applied x
    ) a
    where p.ctid = a.place and p.version = a.first_version - 1 and a.is_whole
    returning 1
  ),
  begun as (
    insert into replay.progress (host_id, projection_id, scope_type, scope_key, version)
    select a.host_id, a.projection_id, a.scope_type, a.scope_key, a.last_version
    from applied a
    where a.first_version = 1 and a.is_whole
    on conflict do nothing
    returning 1
  )
  select (select count(*) from applied), (select count(*) from moved) + (select count(*) from begun)
  into v_expected, v_moved;

  if v_moved <> v_expected then
    raise exception 'progress moved in % scopes, not in %', v_moved, v_expected
      using errcode = 'RP501',
            detail = jsonb_build_object('moved', v_moved, 'expected', v_expected),
            hint = 'Roll back and claim again.';
  end if;
end;
$$;

comment on function replay._move_progress is
'Move progress of what a batch applied, by compare-and-set.

Raises RP501 when progress is not right before the first applied version of a scope, or when a
batch applied something without what comes before it.';

revoke all on function replay._move_progress from public;
