create or replace function replay._fingerprint(
  p_host_id uuid,
  p_projection text,
  p_consumer_group text,
  p_transaction_id text,
  p_event_ids text[],
  p_digests bytea[]
)
  returns bytea
  language sql
  stable
  return sha256(
    replay._frame('pyreplay.fingerprint.v1')
    || replay._frame(p_host_id::text)
    || replay._frame(p_projection)
    || replay._frame(p_consumer_group)
    || replay._frame(p_transaction_id)
    || int4send(cardinality(p_event_ids))
    || coalesce((
      select string_agg(replay._frame(m.event_id) || m.digest, '' order by m.ordinal)
      from unnest(p_event_ids, p_digests) with ordinality m (event_id, digest, ordinal)), ''));

comment on function replay._fingerprint is
'Identify one transaction in one projection by its bytes, version 1.

sha256 over `pyreplay.fingerprint.v1`, the host as 36 lower-case characters, projection, consumer
group, transaction id, the member count as 4 bytes big-endian, then per member its event id and the
32 bytes of its digest. Every text is framed by replay._frame. With corrected digests in place it is
the corrected fingerprint.
p_event_ids and p_digests are in the order of the members. Null when any part is null.';

revoke all on function replay._fingerprint from public;
