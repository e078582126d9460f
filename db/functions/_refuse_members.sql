create or replace function replay._refuse_members(
  p_members replay.member_envelope[],
  p_transaction_ids text[],
  p_registry_version int
)
  returns void
  language plpgsql
  stable
  set search_path = ''
as $$
begin
  perform replay._refuse_member(jsonb_build_object('transaction_id', p_transaction_ids[m.place],
    'ordinal', m.transaction_ordinal, 'event_type', m.event_type, 'event_schema', m.event_schema,
    'policy', r.policy, 'evidence', replay._evidence_of(m), 'fault', f.fault))
  from unnest(p_members) m
  left join replay.registry_entry r
    on (r.registry_version, r.event_type, r.event_schema)
      = (p_registry_version, m.event_type, m.event_schema)
  cross join lateral (select replay._member_fault(m, r.policy, r.data_schema)) f (fault)
  where f.fault is not null
  order by m.place, m.transaction_ordinal
  limit 1;
end;
$$;

comment on function replay._refuse_members is
'Raise the first fault that replay._check_policies found.

Raises RP005, RP006 or RP008, as replay._refuse_member does.';

revoke all on function replay._refuse_members from public;
