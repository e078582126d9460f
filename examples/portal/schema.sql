-- The read model of the portal example. Safe to run again.
create schema if not exists portal;

create table if not exists portal.config (
  host_id uuid not null,
  config_id text not null,
  config_name text not null,
  config_type text not null,
  config_phase text not null,
  class_path text,
  config_desc text not null,
  revision bigint not null,
  primary key (host_id, config_id)
);
comment on table portal.config is 'A configuration: the root of a graph of properties.';
comment on column portal.config.revision is
'The graph revision of the last event applied; each one moves it by one.';

create table if not exists portal.config_property (
  host_id uuid not null,
  property_id text not null,
  config_id text not null,
  property_name text not null,
  property_type text not null,
  property_value text,
  value_type text not null,
  display_order int not null,
  version bigint not null,
  deleted boolean not null,
  primary key (host_id, property_id),
  -- Holds because a root's events are applied in the order of their revisions.
  foreign key (host_id, config_id) references portal.config
);
comment on table portal.config_property is 'A property of a configuration.';

create table if not exists portal.ref_table (
  host_id uuid not null,
  table_id text not null,
  table_name text not null,
  table_desc text not null,
  editable boolean not null,
  active boolean not null,
  primary key (host_id, table_id)
);
comment on table portal.ref_table is 'A table of reference values.';

create table if not exists portal.ref_relation_type (
  host_id uuid not null,
  relation_id text not null,
  relation_name text not null,
  relation_desc text not null,
  primary key (host_id, relation_id)
);
comment on table portal.ref_relation_type is 'A kind of relation between reference values.';

create table if not exists portal.ref_relation (
  host_id uuid not null,
  relation_id text not null,
  value_id_from text not null,
  value_id_to text not null,
  active boolean not null,
  primary key (host_id, relation_id, value_id_from, value_id_to)
);
comment on table portal.ref_relation is 'A relation of two reference values.';

-- No foreign key to ref_table: events without ordering may come before what they speak of.
create table if not exists portal.ref_value (
  host_id uuid not null,
  value_id text not null,
  table_id text not null,
  value_code text not null,
  value_desc text,
  display_order int not null,
  active boolean not null,
  primary key (host_id, value_id)
);
comment on table portal.ref_value is 'A reference value.';

create table if not exists portal.ref_locale (
  host_id uuid not null,
  value_id text not null,
  language text not null,
  value_label text not null,
  primary key (host_id, value_id, language),
  -- Holds because a value and its label are members of one transaction.
  foreign key (host_id, value_id) references portal.ref_value
);
comment on table portal.ref_locale is 'The label of a reference value in one language.';

grant usage on schema portal to replay_processor, replay_reader;
grant select, insert, update on all tables in schema portal to replay_processor;
grant select on all tables in schema portal to replay_reader;
