create or replace function replay._stored_item(
  p_projection_id int,
  p_host_id uuid,
  p_transaction_id text
)
  returns replay.batch_item[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_items replay.batch_item[];
begin
  select array_agg(row(pg_current_xact_id(), 1, p_projection_id, o.host_id, o.transaction_id,
    o.lane, o.source_offset, t.member_count, false, null, t.scopes, 'APPLY', null, '{}')::replay.batch_item)
  into v_items
  from replay.outbox o
  join replay.transaction t on (t.host_id, t.transaction_id) = (o.host_id, o.transaction_id)
  where (o.host_id, o.transaction_id) = (p_host_id, p_transaction_id);

  if v_items is null then
    raise exception 'host % has no transaction "%" in its outbox', p_host_id, p_transaction_id
      using errcode = 'RP104',
            detail = jsonb_build_object('host_id', p_host_id, 'transaction_id', p_transaction_id),
            hint = 'Append it first; what was appended is in the outbox from its COMMIT on.';
  end if;
  return v_items;
end;
$$;

comment on function replay._stored_item is
'One transaction of the outbox as a batch of one.

Raises RP104 when it is not there.';

revoke all on function replay._stored_item from public;
