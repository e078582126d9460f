create or replace function replay._member_fault(
  p_member replay.member_envelope,
  p_policy text,
  p_data_schema text
)
  returns text
  language sql
  immutable
  return case
    when p_policy is null then 'UNKNOWN'
    when replay._evidence_of(p_member)
      <> case when p_policy in ('GRAPH_ROOT', 'AGGREGATE_VERSION') then p_policy else 'NONE' end
      then 'ORDERING'
    when p_data_schema is null and (p_member).data_type <> 'object' then 'DATA'
  end;

comment on function replay._member_fault is
'Name what is wrong with a member by the policy and data schema of its registry entry: UNKNOWN,
ORDERING or DATA; null when all is well.';

revoke all on function replay._member_fault from public;
