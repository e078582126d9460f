create or replace function replay._insert_request(
  p_host_id uuid,
  p_projection_id int,
  p_strategy text,
  p_mode text,
  p_failure_ids uuid[],
  p_reason text
)
  returns replay.request
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_now timestamptz := replay._now();
  v_expires_at timestamptz := v_now + interval '24 hours';
  v_request replay.request;
begin
  insert into replay.request (host_id, request_id, projection_id, strategy, mode, status, plan,
    item_count, member_count, byte_count, reason, requested_by, requested_at, expires_at)
  select p_host_id, gen_random_uuid(), p_projection_id, p_strategy, p_mode, 'PLANNING',
    replay._plan_document(p_host_id, p_projection_id, p_strategy, p_mode, p_failure_ids,
      v_expires_at),
    count(*), sum(f.member_count), sum(f.byte_count), p_reason, replay._actor(), v_now,
    v_expires_at
  from replay.failure f
  where f.host_id = p_host_id and f.failure_id = any (p_failure_ids)
  returning * into v_request;

  insert into replay.request_item (host_id, request_id, item_no, failure_id, fingerprint)
  select p_host_id, v_request.request_id, c.item_no, f.failure_id, f.fingerprint
  from unnest(p_failure_ids) with ordinality c (failure_id, item_no)
  join replay.failure f on (f.host_id, f.failure_id) = (p_host_id, c.failure_id);
  return v_request;
end;
$$;

comment on function replay._insert_request is
'Write a plan over these failures, in their order, and its items: a request that is PLANNING.';

revoke all on function replay._insert_request from public;
