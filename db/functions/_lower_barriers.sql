create or replace function replay._lower_barriers(p_request replay.request)
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_woken_count bigint;
begin
  perform replay._lock_scopes(array(
    select replay._scope_lock_key(b.host_id, b.projection_id, b.scope_type, b.scope_key)
    from replay.barrier b
    where (b.host_id, b.request_id) = (p_request.host_id, p_request.request_id)));

  insert into replay.wake (host_id, projection_id, lane, transaction_id)
  select distinct d.host_id, d.projection_id, d.lane, d.transaction_id
  from replay.barrier b
  join replay.deferred_scope s
    on (s.host_id, s.projection_id, s.scope_type, s.scope_key)
      = (b.host_id, b.projection_id, b.scope_type, b.scope_key)
  join replay.deferred d
    on (d.host_id, d.projection_id, d.transaction_id)
      = (s.host_id, s.projection_id, s.transaction_id)
  left join replay.progress p
    on (p.host_id, p.projection_id, p.scope_type, p.scope_key)
      = (b.host_id, b.projection_id, b.scope_type, b.scope_key)
  where (b.host_id, b.request_id) = (p_request.host_id, p_request.request_id)
    and s.first_version <= coalesce(p.version, 0) + 1
  -- In key order: a live batch may wake the same ones at this instant.
  order by d.host_id, d.projection_id, d.lane, d.transaction_id
  on conflict do nothing;
  get diagnostics v_woken_count = row_count;
  perform replay._settle_chunk(p_request, v_woken_count);
end;
$$;

comment on function replay._lower_barriers is
'Under their scope locks, wake what is next below a request''s barriers, lower them, record it.';

revoke all on function replay._lower_barriers from public;
