create or replace function replay._check_size(p_transaction_id text, p_events bytea[])
  returns int
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_count constant int := cardinality(p_events);
  v_bytes bigint;
  v_largest int;
begin
  select sum(octet_length(u.payload)), max(octet_length(u.payload)) into v_bytes, v_largest
  from unnest(p_events) u (payload);

  if v_count > 1000 or v_largest > 4194304 or v_bytes > 16777216 then
    raise exception 'transaction "%" is too large: % events, % bytes, % in one event',
        p_transaction_id, v_count, v_bytes, v_largest
      using errcode = 'RP004',
            detail = jsonb_build_object('transaction_id', p_transaction_id, 'member_count', v_count,
              'byte_count', v_bytes, 'largest_event', v_largest),
            hint = 'At most 1,000 events, 4 MiB each, 16 MiB in all: append smaller transactions.';
  end if;
  return v_bytes;
end;
$$;

comment on function replay._check_size is
'Check the bounds of a transaction and return its bytes.

Raises RP004 when there are more than 1,000 events, 4 MiB in one or 16 MiB in all.';

revoke all on function replay._check_size from public;
