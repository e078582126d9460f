create or replace function replay._check_policies(
  p_members replay.member_envelope[],
  p_transaction_ids text[],
  p_registry_version int
)
  returns int[]
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_is_faulty boolean;
  v_alone int[];
  v_ordered int[];
begin
  select bool_or(replay._member_fault(m, r.policy, r.data_schema) is not null),
    array_agg(m.place) filter (where r.side_effects <> 'NONE' or r.policy = 'NOT_REPLAYABLE'),
    array_agg(m.place) filter (where r.policy in ('GRAPH_ROOT', 'AGGREGATE_VERSION'))
  into v_is_faulty, v_alone, v_ordered
  from unnest(p_members) m
  left join replay.registry_entry r
    on (r.registry_version, r.event_type, r.event_schema)
      = (p_registry_version, m.event_type, m.event_schema);

  if v_is_faulty then
    perform replay._refuse_members(p_members, p_transaction_ids, p_registry_version);
  end if;
  if v_alone && v_ordered then
    -- Its failure would hold the ordered scope, and nobody could ever replay it.
    raise exception 'an ordered event cannot share a transaction with one that is not replayable'
      using errcode = 'RP005',
            detail = jsonb_build_object('fault', 'ORDERED_WITH_NOT_REPLAYABLE', 'transaction_id', (
              select p_transaction_ids[min(a.place)]
              from unnest(v_alone) a (place)
              where a.place = any (v_ordered))),
            hint = 'Append what is NOT_REPLAYABLE or REPLAY_EXCLUDED in a transaction of its own.';
  end if;
  return v_alone;
end;
$$;

comment on function replay._check_policies is
'Check each member against its registry entry; tell which transactions are a batch of their own.

Raises RP005 when a member carries other ordering evidence than its policy asks for, or an ordered
one stands beside one that is NOT_REPLAYABLE or REPLAY_EXCLUDED; RP006 when the registry version
has no entry for a member; RP008 when the data of a structural type is no JSON object.';

revoke all on function replay._check_policies from public;
