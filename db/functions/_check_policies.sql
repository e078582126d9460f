create or replace function replay._check_policies(
  p_members replay.member_envelope[],
  p_registry_version int
)
  returns boolean
  language plpgsql
  stable
  set search_path = ''
as $$
declare
  v_runs_alone boolean;
  v_has_ordered boolean;
  v_refused jsonb;
begin
  select bool_or(r.side_effects <> 'NONE' or r.policy = 'NOT_REPLAYABLE'),
    bool_or(r.policy in ('GRAPH_ROOT', 'AGGREGATE_VERSION')),
    (array_agg(jsonb_build_object('ordinal', m.transaction_ordinal,
        'event_type', m.event_type, 'event_schema', m.event_schema, 'policy', r.policy,
        'evidence', e.evidence, 'fault', f.fault)
      order by m.transaction_ordinal) filter (where f.fault is not null))[1]
  into v_runs_alone, v_has_ordered, v_refused
  from unnest(p_members) m
  left join replay.registry_entry r
    on (r.registry_version, r.event_type, r.event_schema)
      = (p_registry_version, m.event_type, m.event_schema)
  cross join lateral (select replay._evidence_of(m)) e (evidence)
  cross join lateral (
    select case
      when r.policy is null then 'UNKNOWN'
      when e.evidence <> case when r.policy in ('GRAPH_ROOT', 'AGGREGATE_VERSION') then r.policy
        else 'NONE' end then 'ORDERING'
      when r.data_schema is null and m.data_type <> 'object' then 'DATA'
    end) f (fault);

  if v_refused is not null then
    perform replay._refuse_member(v_refused);
  end if;
  if v_has_ordered and v_runs_alone then
    -- Its failure would hold the ordered scope, and nobody could ever replay it.
    raise exception 'an ordered event cannot share a transaction with one that is not replayable'
      using errcode = 'RP005',
            detail = jsonb_build_object('fault', 'ORDERED_WITH_NOT_REPLAYABLE'),
            hint = 'Append what is NOT_REPLAYABLE or REPLAY_EXCLUDED in a transaction of its own.';
  end if;
  return v_runs_alone;
end;
$$;

comment on function replay._check_policies is
'Check each member against its registry entry; tell whether the transaction is a batch of its own.

Raises RP005 when a member carries other ordering evidence than its policy asks for, or an ordered
one stands beside one that is NOT_REPLAYABLE or REPLAY_EXCLUDED; RP006 when the registry version
has no entry for a member; RP008 when the data of a structural type is no JSON object.';

revoke all on function replay._check_policies from public;
