create or replace function replay._evidence_of(p_member replay.member_envelope)
  returns text
  language sql
  immutable
  return case
    when num_nonnulls((p_member).graph_root, (p_member).graph_revision) = 1
      or num_nonnulls((p_member).aggregate_type, (p_member).aggregate_version) = 1
      or (p_member).aggregate_version is not null and (p_member).aggregate_id is null
      then 'PARTIAL'
    when (p_member).graph_root is not null then 'GRAPH_ROOT'
    when (p_member).aggregate_type is not null then 'AGGREGATE_VERSION'
    else 'NONE'
  end;

comment on function replay._evidence_of is
'Name the strongest ordering evidence a member carries: GRAPH_ROOT, AGGREGATE_VERSION or NONE;
PARTIAL when either kind is there in part. A subject alone is no evidence.';

revoke all on function replay._evidence_of from public;
