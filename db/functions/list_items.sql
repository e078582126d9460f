create or replace function replay.list_items(p_host_id uuid, p_request_id uuid)
  returns setof replay.item
  language plpgsql
  stable
  security definer
  set search_path = ''
as $$
begin
  perform replay._check_host(p_host_id);
  perform replay._check_request(p_host_id, p_request_id);
  return query
  select i.*
  from replay.item i
  where i.host_id = p_host_id and i.request_id = p_request_id
  order by i.item_no;
end;
$$;

comment on function replay.list_items is
'List the items of a request in the order of its plan, with how often each was tried and how its
last try ended.

Raises RP103 when there is no such request.';

revoke all on function replay.list_items from public;
grant execute on function replay.list_items to replay_reader;
