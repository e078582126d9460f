-- Two projections hold the same when their rows and digests are the same.
select
  'permit_case' as read_model,
  count(*) as row_count,
  coalesce(sum(c.steps), 0) as steps,
  md5(string_agg(md5(c::text), '' order by c.host_id, c.case_id)) as digest
from permits.permit_case as c
union all
select
  'permit_case_clean' as read_model,
  count(*) as row_count,
  coalesce(sum(c.steps), 0) as steps,
  md5(string_agg(md5(c::text), '' order by c.host_id, c.case_id)) as digest
from permits.permit_case_clean as c
order by read_model;
