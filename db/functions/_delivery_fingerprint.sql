create or replace function replay._delivery_fingerprint(
  p_fingerprint bytea,
  p_source text,
  p_partition int,
  p_offset bigint
)
  returns bytea
  language sql
  stable
  return sha256(
    p_fingerprint || replay._frame(p_source) || int4send(p_partition) || int8send(p_offset));

comment on function replay._delivery_fingerprint is
'Identify one delivery of a transaction.

sha256 over the 32 bytes of its fingerprint, the framed name of the source, the lane or partition as
4 bytes and the offset as 8 bytes, both big-endian.';

revoke all on function replay._delivery_fingerprint from public;
