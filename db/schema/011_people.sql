-- Who may act for which host.

create table replay.host_member (
  member_id bigint generated always as identity primary key,
  host_id uuid,
  member text not null,
  granted_by text not null,
  granted_at timestamptz not null,
  constraint host_member_once unique nulls not distinct (member, host_id),
  constraint host_member_bounded check (octet_length(member) between 1 and 512)
);
comment on table replay.host_member is
'Who belongs to which host: without a row here a role sees and does nothing of it. What a member may
do there, the roles say that are granted to it.';
comment on column replay.host_member.host_id is 'Null: every host, those to come as well.';
comment on column replay.host_member.member is
'A login role, or a person that a member of replay_gateway vouches for.';
