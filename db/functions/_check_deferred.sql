create or replace function replay._check_deferred(
  p_host_id uuid,
  p_projection_id int,
  p_transaction_ids text[]
)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_transaction_id text;
  v_failure_id uuid;
begin
  select c.transaction_id, f.failure_id into v_transaction_id, v_failure_id
  from unnest(p_transaction_ids) with ordinality c (transaction_id, ord)
  left join replay.deferred d
    on (d.host_id, d.projection_id, d.transaction_id)
      = (p_host_id, p_projection_id, c.transaction_id)
  left join replay.failure f
    on (f.host_id, f.projection_id, f.transaction_id)
      = (p_host_id, p_projection_id, c.transaction_id)
  where d.transaction_id is null
  order by c.ord
  limit 1;

  if v_transaction_id is not null then
    raise exception 'transaction "%" is not deferred', v_transaction_id
      using errcode = 'RP104',
            detail = jsonb_build_object('transaction_id', v_transaction_id, 'failure_id',
              v_failure_id),
            hint = case when v_failure_id is null
              then 'replay.deferred_work shows those that are.'
              else 'It failed itself: select failure ' || v_failure_id || '.' end;
  end if;
end;
$$;

comment on function replay._check_deferred is
'Check that chosen transactions are deferred in this projection.

Raises RP104 when one is not, naming its failure if it has one.';

revoke all on function replay._check_deferred from public;
