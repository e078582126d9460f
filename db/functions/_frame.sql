create or replace function replay._frame(p_text text)
  returns bytea
  language sql
  stable
  return int4send(octet_length(convert_to(p_text, 'UTF8'))) || convert_to(p_text, 'UTF8');

comment on function replay._frame is
'Frame a text for a digest: its length in bytes as 4 bytes big-endian, then its UTF-8 bytes.';

revoke all on function replay._frame from public;
