create or replace function replay._current_registry_version(p_registry_digest bytea)
  returns int
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_version int;
  v_digest bytea;
begin
  select r.registry_version, r.digest into v_version, v_digest
  from replay.registry r
  order by r.registry_version desc
  limit 1;

  if v_version is null then
    raise exception 'no registry version has been published'
      using errcode = 'RP105',
            detail = '{}',
            hint = 'Publish the event types of the application with replay.publish_registry.';
  end if;
  if v_digest <> p_registry_digest then
    raise exception 'the registry moved on to version %', v_version
      using errcode = 'RP205',
            detail = jsonb_build_object('registry_version', v_version),
            hint = 'Load it again with replay.get_registry, validate, and append again.';
  end if;
  return v_version;
end;
$$;

comment on function replay._current_registry_version is
'Return the current registry version, whose digest the caller must know.

Raises RP105 when nothing is published; RP205 when the digest is that of another version.';

revoke all on function replay._current_registry_version from public;
