create or replace function replay._check_bounds(p_host_id uuid, p_failure_ids uuid[])
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_count bigint;
  v_bytes bigint;
  v_excluded uuid[];
  v_held uuid[] := array(
    select m.failure_id
    from replay._config() c
    join replay.failure_member m on m.event_type = any (c.excluded_event_types)
    where m.host_id = p_host_id and m.failure_id = any (p_failure_ids)
      and c.excluded_event_types <> '{}');
begin
  select count(*), coalesce(sum(f.byte_count), 0),
    array_agg(f.failure_id order by f.captured_at, f.failure_id)
      filter (where not f.replayable or f.failure_id = any (v_held))
  into v_count, v_bytes, v_excluded
  from replay.failure f
  where f.host_id = p_host_id and f.failure_id = any (p_failure_ids);

  if v_count = 0 then
    raise exception 'the selection waits for no open failure'
      using errcode = 'RP001', detail = jsonb_build_object('item_count', 0),
            hint = 'There is nothing to replay: what is deferred there flows by itself.';
  end if;
  if v_count > 10000 or v_bytes > 268435456 then
    raise exception 'a plan of % transactions and % bytes is too large', v_count, v_bytes
      using errcode = 'RP009',
            detail = jsonb_build_object('item_count', v_count, 'byte_count', v_bytes,
              'item_limit', 10000, 'byte_limit', 268435456),
            hint = 'Select less and make several plans.';
  end if;
  if v_excluded is not null then
    raise exception 'failure % is not replayable', v_excluded[1]
      using errcode = 'RP011',
            detail = jsonb_build_object('failure_ids', v_excluded[1:100], 'failure_count',
              cardinality(v_excluded)),
            hint = 'A member is excluded: by its policy, its side effects, or exclude_types; leave it out.';
  end if;
end;
$$;

comment on function replay._check_bounds is
'Check that selected failures can be one plan.

Raises RP001 when there are none; RP009 when they are more than 10,000 or 256 MiB; RP011 when one
is not replayable.';

revoke all on function replay._check_bounds from public;
