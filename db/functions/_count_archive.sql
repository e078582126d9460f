create or replace function replay._count_archive(p_xact_id xid8)
  returns void
  language sql
  volatile
begin atomic
  insert into replay.archive as a (host_id, failure_count, byte_count)
  select t.host_id, count(*), sum(t.byte_count)
  from replay.batch_item b
  join replay.transaction t on (t.host_id, t.transaction_id) = (b.host_id, b.transaction_id)
  where b.xact_id = p_xact_id and b.decision = 'FAIL'
  group by t.host_id
  order by t.host_id
  on conflict (host_id) do update
  set failure_count = a.failure_count + excluded.failure_count,
    byte_count = a.byte_count + excluded.byte_count;
end;

comment on function replay._count_archive is
'Count what a batch has captured. The last locks it takes, for other batches of the host wait for
them.';

revoke all on function replay._count_archive from public;
