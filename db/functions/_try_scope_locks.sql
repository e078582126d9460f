create or replace function replay._try_scope_locks(p_request replay.request, p_items int[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_key bigint;
  v_is_free boolean := true;
begin
  for v_key in
    select distinct replay._scope_lock_key(s.host_id, s.projection_id, s.scope_type, s.scope_key)
    from replay.request_item i
    join replay.failure_scope s on (s.host_id, s.failure_id) = (i.host_id, i.failure_id)
    where (i.host_id, i.request_id) = (p_request.host_id, p_request.request_id)
      and i.item_no = any (p_items)
    order by 1
  loop
    -- Never wait for one while holding others: a live batch may run its handlers for long.
    v_is_free := v_is_free and pg_try_advisory_xact_lock(v_key);
  end loop;

  if not v_is_free or exists (
    select
    from replay.request_item i
    join replay.failure_scope s on (s.host_id, s.failure_id) = (i.host_id, i.failure_id)
    join replay.barrier b
      on (b.host_id, b.projection_id, b.scope_type, b.scope_key)
        = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
    where (i.host_id, i.request_id) = (p_request.host_id, p_request.request_id)
      and i.item_no = any (p_items))
  then
    raise exception 'live work or another replay holds a scope of the chunk'
      using errcode = 'RP214', detail = jsonb_build_object('request_id', p_request.request_id),
            hint = 'Roll back and begin again; the driver does so for 60 seconds.';
  end if;
end;
$$;

comment on function replay._try_scope_locks is
'Take the scope locks of some items without waiting.

Raises RP214 when one is held by somebody else, or a barrier of another request stands on it.';

revoke all on function replay._try_scope_locks from public;
