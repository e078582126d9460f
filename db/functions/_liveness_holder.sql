create or replace function replay._liveness_holder(p_host_id uuid, p_request_id uuid)
  returns int
  language sql
  volatile
begin atomic
  select l.pid
  from pg_locks l
  cross join (select replay._liveness_key(p_host_id, p_request_id)) k (key)
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select d.oid from pg_database d where d.datname = current_database())
    and l.classid::bigint = (k.key >> 32) & 4294967295
    and l.objid::bigint = k.key & 4294967295;
end;

comment on function replay._liveness_holder is
'Process id of the session that holds the liveness lock of a request; null: none does.';

revoke all on function replay._liveness_holder from public;
grant execute on function replay._liveness_holder to replay_reader;
