create or replace function replay._refuse_drift(p_request replay.request, p_drift jsonb)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  raise exception 'what the plan of request % rests on has changed: %', p_request.request_id,
    p_drift ->> 'fact'
    using errcode = 'RP208',
          detail = p_drift || jsonb_build_object('request_id', p_request.request_id),
          hint = 'Nothing was done. Look at the failure, cancel this request and make a new plan.';
end;
$$;

comment on function replay._refuse_drift is
'Say which fact of a plan has changed.

Raises RP208, always.';

revoke all on function replay._refuse_drift from public;
