create or replace function replay.expect_instance(
  p_instance_id text,
  p_is_expected boolean default true
)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  insert into replay.instance (instance_id, is_expected)
  values (p_instance_id, p_is_expected)
  on conflict (instance_id) do update
  set is_expected = excluded.is_expected;
  perform replay._audit(null,
    case when p_is_expected then 'INSTANCE_EXPECTED' else 'INSTANCE_UNEXPECTED' end,
    p_detail => jsonb_build_object('instance_id', p_instance_id));
end;
$$;

comment on function replay.expect_instance is
'Say that a process is expected to live, or no longer is. While one that is expected is missing,
get_status calls the settings unconfirmed.';

revoke all on function replay.expect_instance from public;
grant execute on function replay.expect_instance to replay_operator;
