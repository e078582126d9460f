create or replace function replay._check_members(
  p_host_id uuid,
  p_transaction_id text,
  p_members replay.member_envelope[]
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_wrong record;
begin
  select w.ordinal, w.attribute into v_wrong
  from (
    select m.ordinal - 1 as ordinal, case
        when m.host <> p_host_id then 'host'
        when m.transaction_id <> p_transaction_id then 'transactionid'
        when m.transaction_count <> cardinality(p_members) then 'transactioncount'
        when m.transaction_ordinal <> m.ordinal - 1 then 'transactionordinal'
      end as attribute
    from unnest(p_members) with ordinality m (place, payload, event_id, event_type, event_schema,
      host, transaction_id, transaction_count, transaction_ordinal, aggregate_type, aggregate_id,
      aggregate_version, graph_root, graph_revision, data_type, ordinal)
  ) w
  where w.attribute is not null
  order by w.ordinal
  limit 1;

  if found then
    raise exception 'event % does not fit into transaction "%": %', v_wrong.ordinal,
        p_transaction_id, v_wrong.attribute
      using errcode = 'RP003',
            detail = jsonb_build_object('transaction_id', p_transaction_id,
              'ordinal', v_wrong.ordinal, 'attribute', v_wrong.attribute),
            hint = 'Send all members of one transaction of one host, by ordinal from 0.';
  end if;
end;
$$;

comment on function replay._check_members is
'Check that members form one complete transaction of that host and id.

Raises RP003 when a host, transaction id or count differs, or ordinals are not 0, 1, 2 ... in this
order.';

revoke all on function replay._check_members from public;
