create or replace function replay._refuse_full(p_archive replay.archive)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  raise exception 'there is no room for failures of host %: % bytes are kept', p_archive.host_id,
      p_archive.byte_count
    using errcode = 'RP502',
          detail = jsonb_build_object('host_id', p_archive.host_id, 'byte_count',
            p_archive.byte_count, 'hard_limit', p_archive.hard_limit),
          hint = 'Heal or waive failures and remove their payloads (remove_payloads), or allow '
            || 'more (set_capacity); the source goes on by itself.';
end;
$$;

comment on function replay._refuse_full is
'Refuse to go on for a host whose archive is at its hard limit.

Raises RP502.';

revoke all on function replay._refuse_full from public;
