create or replace function replay._refuse_unknown_failure(p_host_id uuid, p_failure_id uuid)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  raise exception 'there is no failure % here', p_failure_id
    using errcode = 'RP102',
          detail = jsonb_build_object('host_id', p_host_id, 'failure_id', p_failure_id),
          hint = 'list_failures shows those there are; a plan is of one host and projection.';
end;
$$;

comment on function replay._refuse_unknown_failure is
'Say that the host, or the projection, has no such failure.

Raises RP102, always.';

revoke all on function replay._refuse_unknown_failure from public;
