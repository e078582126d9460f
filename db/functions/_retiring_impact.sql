create or replace function replay._retiring_impact(p_projection_id int)
  returns jsonb
  language sql
  volatile
begin atomic
  select jsonb_build_object(
    'projection', p.projection,
    'consumer_group', p.consumer_group,
    'open_failure_count', (
      select count(*) from replay.failure f
      where f.projection_id = p.projection_id and f.status = 'OPEN'),
    'deferred_count', (
      select count(*) from replay.deferred d where d.projection_id = p.projection_id),
    'cancelled_request_ids', array(
      select r.request_id from replay.request r
      where r.projection_id = p.projection_id
        and r.status in ('READY', 'AWAITING_APPROVAL', 'APPROVED')
      order by r.request_id))
  from replay.projection p
  where p.projection_id = p_projection_id;
end;

comment on function replay._retiring_impact is
'What retiring a projection would leave behind and cancel.';

revoke all on function replay._retiring_impact from public;
