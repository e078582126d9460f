create or replace function replay._check_plan_hash(p_request replay.request, p_plan_hash bytea)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if p_request.plan_hash is distinct from p_plan_hash then
    raise exception 'the hash names another plan than request % holds', p_request.request_id
      using errcode = 'RP211',
            detail = jsonb_build_object('request_id', p_request.request_id, 'plan_hash',
              encode(p_request.plan_hash, 'hex')),
            hint = 'Read the request again, and what it plans, before naming its hash.';
  end if;
end;
$$;

comment on function replay._check_plan_hash is
'Check that the caller means the plan that a request holds.

Raises RP211 when the hash is another or null.';

revoke all on function replay._check_plan_hash from public;
