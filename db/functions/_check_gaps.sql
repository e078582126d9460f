create or replace function replay._check_gaps(
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
  v_gap replay.gap;
  v_deferred text;
begin
  select g.* into v_gap
  from replay.gap g
  where g.host_id = p_host_id and g.projection_id = p_projection_id
    and g.found_transaction_id = any (p_transaction_ids)
  order by g.scope_type, g.scope_key, g.missing_first
  limit 1;
  if v_gap.scope_key is null then
    return;
  end if;

  select d.transaction_id into v_deferred
  from replay.projection p
  join replay.deferred_scope d
    on (d.host_id, d.projection_id, d.scope_type, d.scope_key)
      = (p_host_id, p.projection_id, v_gap.scope_type, v_gap.scope_key)
  where v_gap.missing_first between d.first_version and d.last_version
  limit 1;

  raise exception '% "%" misses version %', v_gap.scope_type, v_gap.scope_key, v_gap.missing_first
    using errcode = 'RP012',
          detail = jsonb_build_object('scope_type', v_gap.scope_type, 'scope_key', v_gap.scope_key,
            'expected', v_gap.missing_first, 'found', v_gap.found_version,
            'found_transaction_id', v_gap.found_transaction_id, 'appended', v_gap.appended,
            'deferred_transaction_id', v_deferred),
          hint = case when v_gap.appended
            then 'It is in the event store: let a processor read every lane of the host.'
            else 'It was never received: append it, and all that waits for it heals by itself.' end;
end;
$$;

comment on function replay._check_gaps is
'Check that no version is missing before these deferred transactions.

Raises RP012 for the first gap: scope, the version expected and the one found, whether the missing
one is in the event store, and the transaction that carries it where it is deferred elsewhere.';

revoke all on function replay._check_gaps from public;
