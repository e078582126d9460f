create view replay.own_host with (security_barrier) as
select distinct coalesce(a.host_id, m.host_id) as host_id
from (
  select
    replay._actor() as actor,
    nullif(current_setting('replay.host', true), '')::uuid as host_id
) a
cross join lateral (
  select h.host_id
  from replay.host_member h
  where h.member = a.actor
  union all
  -- Who may become the owner can do anything anyway.
  select null as host_id
  where a.actor = session_user and pg_has_role(session_user, 'replay_owner', 'member')
) m
where a.host_id is null or m.host_id is null or m.host_id = a.host_id;

comment on view replay.own_host is
'The hosts that the caller is a member of. A row without host_id: every host.';

grant select on replay.own_host to replay_reader;
