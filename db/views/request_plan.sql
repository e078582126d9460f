create view replay.request_plan with (security_barrier) as
select
  r.host_id,
  r.request_id,
  r.plan_hash,
  replay._read_plan(r.plan) as plan
from replay.request r
where exists (
  select from replay.own_host own where own.host_id is null or own.host_id = r.host_id
);

comment on view replay.request_plan is
'The facts that a replay request was planned and approved on.';
comment on column replay.request_plan.plan_hash is
'sha256 of the plan document, of which plan is a copy to read.';
comment on column replay.request_plan.plan is
'Scopes carry the progress they are expected at; -1: a transaction without an ordered scope.';

grant select on replay.request_plan to replay_reader;
