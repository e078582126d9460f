create or replace function replay._check_no_batch()
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
begin
  -- What holds a batch has written, and thus has an id; most callers are spared the query.
  if pg_current_xact_id_if_assigned() is null then
    return;
  end if;
  if exists (select from replay.batch_item b where b.xact_id = pg_current_xact_id()) then
    raise exception 'this database transaction holds a batch'
      using errcode = 'RP013', detail = '{}',
            hint = 'Handlers append, claim and capture nothing; complete the batch first.';
  end if;
end;
$$;

comment on function replay._check_no_batch is
'Refuse what must not happen while handlers run.

Raises RP013 in a database transaction that holds a batch.';

revoke all on function replay._check_no_batch from public;
