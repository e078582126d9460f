create or replace function replay.get_registry()
  returns setof replay.registry_entry
  language sql
  stable
  security definer
begin atomic
  select e.*
  from replay.registry_entry e
  where e.registry_version = (select max(r.registry_version) from replay.registry r)
  order by e.event_type collate "C", e.event_schema collate "C";
end;

comment on function replay.get_registry is
'List the entries of the current registry version, by event type and event schema.

Nothing comes back before the first replay.publish_registry. The digest that
replay.append_transaction asks for follows from these entries, see replay._registry_digest.';

revoke all on function replay.get_registry from public;
grant execute on function replay.get_registry
to replay_reader, replay_appender, replay_processor;
