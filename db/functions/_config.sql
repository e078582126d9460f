create or replace function replay._config()
  returns replay.config
  language sql
  volatile
begin atomic
  select c.*
  from replay.config c
  order by c.generation desc
  limit 1;
end;

comment on function replay._config is 'The settings that hold now.';

revoke all on function replay._config from public;
