create or replace function replay.begin_trial(
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
  insert into replay.trial (host_id, projection_id, transaction_id, crash_count)
  select t.host_id, v_projection_id, t.transaction_id, 1
  from unnest(p_host_ids, p_transaction_ids) begun (host_id, transaction_id)
  join replay.transaction t
    on (t.host_id, t.transaction_id) = (begun.host_id, begun.transaction_id)
  order by t.host_id, t.transaction_id
  on conflict (host_id, projection_id, transaction_id)
  do update set crash_count = trial.crash_count + 1;
end;
$$;

comment on function replay.begin_trial is
'Note that the handlers of these transactions begin, so that it is known if their process or its
connection never comes back. To be committed by another session while the batch is claimed; then
nobody else begins the same ones. complete_batch forgets it.

p_host_ids, p_transaction_ids: pairs, each once. What was never appended is passed over.
Raises RP101 when the projection is not registered; RP213 when it has not started or is retired.';

revoke all on function replay.begin_trial from public;
grant execute on function replay.begin_trial to replay_processor;
