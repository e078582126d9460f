create or replace function replay._transaction_fingerprint(
  p_host_id uuid,
  p_projection_id int,
  p_transaction_id text
)
  returns bytea
  language sql
  stable
begin atomic
  select replay._fingerprint(p_host_id, p.projection, p.consumer_group, p_transaction_id,
    array_agg(e.event_id order by e.ordinal), array_agg(e.digest order by e.ordinal))
  from replay.projection p
  cross join replay.event e
  where p.projection_id = p_projection_id
    and (e.host_id, e.transaction_id) = (p_host_id, p_transaction_id)
  group by p.projection_id;
end;

comment on function replay._transaction_fingerprint is
'The fingerprint of a stored transaction in one projection.';

revoke all on function replay._transaction_fingerprint from public;
