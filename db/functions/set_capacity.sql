create or replace function replay.set_capacity(
  p_host_id uuid, p_soft_limit bigint, p_hard_limit bigint
)
  returns replay.archive
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_archive replay.archive;
begin
  perform replay._check_host(p_host_id);
  if (0 <= p_soft_limit and p_soft_limit <= p_hard_limit) is not true then
    raise exception 'the limits % and % are none', p_soft_limit, p_hard_limit
      using errcode = 'RP001', detail = '{"argument": "soft_limit"}',
            hint = 'Give bytes, the soft limit first and no larger than the hard one.';
  end if;
  insert into replay.archive as a (host_id, soft_limit, hard_limit)
  values (p_host_id, p_soft_limit, p_hard_limit)
  on conflict (host_id) do update
  set soft_limit = excluded.soft_limit, hard_limit = excluded.hard_limit
  returning * into v_archive;
  perform replay._audit(p_host_id, 'CAPACITY_SET', p_detail => jsonb_build_object('soft_limit',
    p_soft_limit, 'hard_limit', p_hard_limit));
  return v_archive;
end;
$$;

comment on function replay.set_capacity is
'Say how many bytes may be kept of the failures of a host. From the soft limit on health warns; from
the hard limit on its sources stop, and go on by themselves when there is room. Replay, drain and
release never stop.

Raises RP001 unless 0 <= p_soft_limit <= p_hard_limit.';

revoke all on function replay.set_capacity from public;
grant execute on function replay.set_capacity to replay_operator;
