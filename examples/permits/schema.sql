-- The read model of the permit example. Safe to run again.
create schema if not exists permits;

create table if not exists permits.permit_case (
  host_id uuid not null,
  case_id text not null,
  version bigint not null,
  last_step text not null,
  steps int not null,
  days_to_deadline int not null,
  end_date timestamptz,
  primary key (host_id, case_id)
);
comment on table permits.permit_case is 'One row a permit case: how far it has come.';
comment on column permits.permit_case.version is
'The aggregate version of the last event applied; an older event changes nothing.';
comment on column permits.permit_case.days_to_deadline is
'Whole days from the last step to the deadline; below zero: late.';
comment on column permits.permit_case.end_date is 'Null: the case has no end date.';

-- The same table again, for the projection that `corrected` is compared with.
create table if not exists permits.permit_case_clean (
  like permits.permit_case including all
);
comment on table permits.permit_case_clean is
'What permit_case holds when the corrected handler sees every event first.';

grant usage on schema permits to replay_processor, replay_reader;
grant select, insert, update on all tables in schema permits to replay_processor;
grant select on all tables in schema permits to replay_reader;
