create or replace function replay._plan_document(
  p_host_id uuid,
  p_projection_id int,
  p_strategy text,
  p_mode text,
  p_failure_ids uuid[],
  p_expires_at timestamptz
)
  returns bytea
  language sql
  stable
begin atomic
  with chosen as (
    select c.ord, f.*
    from unnest(p_failure_ids) with ordinality c (failure_id, ord)
    join replay.failure f on (f.host_id, f.failure_id) = (p_host_id, c.failure_id)
  ),
  pin as (
    select distinct c.registry_version from chosen c
  ),
  scope as (
    select s.scope_type, s.scope_key,
      case when s.scope_type = 'TRANSACTION' then -1 else coalesce(p.version, 0) end as version
    from chosen c
    join replay.failure_scope s on (s.host_id, s.failure_id) = (c.host_id, c.failure_id)
    left join replay.progress p
      on (p.host_id, p.projection_id, p.scope_type, p.scope_key)
        = (s.host_id, s.projection_id, s.scope_type, s.scope_key)
  )
  select replay._frame('pyreplay.plan.v1') || replay._frame(p_host_id::text)
    || replay._frame(p.projection) || replay._frame(p.consumer_group)
    || replay._frame(p_strategy) || replay._frame(p_mode)
    || (select int8send(count(*))
        || coalesce(string_agg(replay._frame(c.failure_id::text), '' order by c.ord), '')
        || int8send(count(*))
        || coalesce(string_agg(int4send(octet_length(c.fingerprint)) || c.fingerprint, ''
          order by c.ord), '')
        -- Repair ids and corrected fingerprints: two lists that are empty yet.
        || int8send(0) || int8send(0) from chosen c)
    || (select int8send(count(*))
        || coalesce(string_agg(int8send(n.registry_version), '' order by n.registry_version), '')
      from pin n)
    || (select int8send(count(*))
        || coalesce(string_agg(
          replay._frame(s.scope_type) || replay._frame(s.scope_key) || int8send(s.version), ''
          order by s.scope_type collate "C", s.scope_key collate "C"), '') from scope s)
    || (select int8send(count(*)) || int8send(coalesce(sum(c.member_count), 0))
        || int8send(coalesce(sum(c.byte_count), 0)) from chosen c)
    || int8send((extract(epoch from p_expires_at) * 1000000)::bigint)
  from replay.projection p
  where p.projection_id = p_projection_id;
end;

comment on function replay._plan_document is
'Write the plan over these failures, in their order, from the facts as they are now. Two plans are
the same bytes exactly when all their facts are equal; layout in docs/contract.md.

Null when there is no such projection.';

revoke all on function replay._plan_document from public;
