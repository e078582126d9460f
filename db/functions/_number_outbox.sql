create or replace function replay._number_outbox()
  returns trigger
  language plpgsql
  volatile
  security definer
  set search_path = ''
  set plan_cache_mode = force_generic_plan
  set enable_seqscan = off
as $$
begin
  with pending as (
    delete from replay.outbox_pending p
    where p.xact_id = pg_current_xact_id()
    returning p.*
  ), counter as (
    insert into replay.outbox_lane as l (host_id, lane, last_offset)
    select p.host_id, p.lane, count(*)
    from pending p
    group by p.host_id, p.lane
    -- The order is that of the locks, which last only as long as the COMMIT.
    order by p.host_id, p.lane
    on conflict (host_id, lane) do update set last_offset = l.last_offset + excluded.last_offset
    returning l.host_id, l.lane, l.last_offset
  )
  insert into replay.outbox (host_id, lane, source_offset, transaction_id)
  select p.host_id, p.lane, c.last_offset + 1 - row_number() over (
      partition by p.host_id, p.lane order by p.append_order desc), p.transaction_id
  from pending p
  join counter c on (c.host_id, c.lane) = (p.host_id, p.lane);
  return null;
end;
$$;

comment on function replay._number_outbox is
'Give all transactions that this database transaction appended their offsets, without gaps, at
COMMIT.

Runs once for them all: the trigger fires for the first one only.';

revoke all on function replay._number_outbox from public;

create constraint trigger outbox_pending_numbered after insert on replay.outbox_pending
deferrable initially deferred
for each row when (new.append_order = 1) execute function replay._number_outbox();
