create or replace function replay._end_trials(p_xact_id xid8)
  returns void
  language sql
  volatile
begin atomic
  delete from replay.trial t
  using (
    select r.host_id, r.projection_id, r.transaction_id
    from replay.batch_item b
    join replay.trial r
      on (r.host_id, r.projection_id, r.transaction_id)
        = (b.host_id, b.projection_id, b.transaction_id)
    where b.xact_id = p_xact_id
    order by r.host_id, r.projection_id, r.transaction_id
    for no key update of r
  ) ended
  where (t.host_id, t.projection_id, t.transaction_id)
    = (ended.host_id, ended.projection_id, ended.transaction_id);
end;

comment on function replay._end_trials is
'Forget what was held against the transactions of a batch: it came to its end.';

revoke all on function replay._end_trials from public;
