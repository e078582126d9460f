create or replace function replay.end_trial(
  p_projection text,
  p_consumer_group text,
  p_host_ids uuid[],
  p_transaction_ids text[]
)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
declare
  v_projection_id int
    := (replay._started_projection(p_projection, p_consumer_group)).projection_id;
begin
  perform replay._own_hosts(h.host_id)
  from (select distinct b.host_id from unnest(p_host_ids) b (host_id)) h;
  update replay.trial t
  set crash_count = t.crash_count - 1
  from (
    select r.host_id, r.transaction_id
    from replay.trial r
    join unnest(p_host_ids, p_transaction_ids) ended (host_id, transaction_id)
      on (r.host_id, r.projection_id, r.transaction_id)
        = (ended.host_id, v_projection_id, ended.transaction_id)
    order by r.host_id, r.transaction_id
    for no key update of r
  ) mine
  where (t.host_id, t.projection_id, t.transaction_id)
    = (mine.host_id, v_projection_id, mine.transaction_id);

  delete from replay.trial t
  using unnest(p_host_ids, p_transaction_ids) ended (host_id, transaction_id)
  where (t.host_id, t.projection_id, t.transaction_id)
      = (ended.host_id, v_projection_id, ended.transaction_id)
    and t.crash_count <= 0;
end;
$$;

comment on function replay.end_trial is
'Take back what begin_trial noted of these transactions: their batch was rolled back, and its
process and connection have survived.

p_host_ids, p_transaction_ids: as for begin_trial.
Raises RP101 when the projection is not registered; RP213 when it has not started or is retired.';

revoke all on function replay.end_trial from public;
grant execute on function replay.end_trial to replay_processor;
