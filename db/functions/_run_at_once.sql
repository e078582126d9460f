create or replace function replay._run_at_once(p_handlers jsonb)
  returns boolean
  language plpgsql
  volatile
  -- Dynamic, for it names the handlers; as its caller, who may execute them.
as $$
begin
  execute replay._batch_call(p_handlers);
  return true;
exception when others then
  if replay._is_fault_of_batch(sqlstate) then
    raise;
  end if;
  return false;
end;
$$;

comment on function replay._run_at_once is
'Call the handlers of the batch in hand in one statement. False: something failed and nothing is
done. p_handlers: as for run_batch.';

revoke all on function replay._run_at_once from public;
grant execute on function replay._run_at_once to replay_processor;
