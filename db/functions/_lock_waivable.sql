create or replace function replay._lock_waivable(p_host_id uuid, p_failure_ids uuid[])
  returns uuid[]
  language plpgsql
  volatile
  set search_path = ''
as $$
declare
  v_failure_ids uuid[] := array(select distinct f.id from unnest(p_failure_ids) f (id) order by 1);
  v_refused record;
begin
  if cardinality(v_failure_ids) not between 1 and 1000 then
    raise exception '% failures cannot be waived at a time', cardinality(v_failure_ids)
      using errcode = 'RP001', detail = '{"argument": "failure_ids"}', hint = 'Name 1 to 1000.';
  end if;
  perform from replay.failure f
  where f.host_id = p_host_id and f.failure_id = any (v_failure_ids)
  order by f.failure_id
  for no key update;

  select c.failure_id, f.status, s.scope_type, s.scope_key into v_refused
  from unnest(v_failure_ids) c (failure_id)
  left join replay.failure f on (f.host_id, f.failure_id) = (p_host_id, c.failure_id)
  left join replay.failure_scope s
    on (s.host_id, s.failure_id) = (p_host_id, c.failure_id) and s.scope_type <> 'TRANSACTION'
  where f.status is distinct from 'OPEN' or s.scope_type is not null
  limit 1;
  if not found then
    return v_failure_ids;
  end if;
  if v_refused.status is null then
    perform replay._refuse_unknown_failure(p_host_id, v_refused.failure_id);
  end if;
  raise exception 'failure % cannot be waived', v_refused.failure_id
    using errcode = case when v_refused.status = 'OPEN' then 'RP225' else 'RP207' end,
          detail = to_jsonb(v_refused),
          hint = 'Waive what is OPEN and of no aggregate or graph; heal the others by a plan.';
end;
$$;

comment on function replay._lock_waivable is
'Lock failures that may be waived, and return their ids, sorted and each once.

Raises RP001 for none or more than 1000; RP102 for an unknown one; RP207 for one that is not OPEN;
RP225 for one that holds an aggregate or a graph.';

revoke all on function replay._lock_waivable from public;
