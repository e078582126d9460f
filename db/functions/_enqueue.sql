create or replace function replay._enqueue(p_host_id uuid, p_members replay.member_envelope[])
  returns void
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_xact_id constant xid8 := pg_current_xact_id();
begin
  insert into replay.outbox_pending (xact_id, append_order, host_id, lane, transaction_id)
  select v_xact_id, row_number() over (order by m.place) + coalesce((
      select max(o.append_order) from replay.outbox_pending o where o.xact_id = v_xact_id), 0),
    p_host_id, case when h.lane_count > 1 then replay._lane_of(m, h.lane_count) else 0 end,
    m.transaction_id
  from unnest(p_members) m
  left join replay.host h on h.host_id = p_host_id
  where m.transaction_ordinal = 0;
end;
$$;

comment on function replay._enqueue is
'Put transactions in the line for outbox offsets, which they get at COMMIT, in their order.';

revoke all on function replay._enqueue from public;
