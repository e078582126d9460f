create or replace function replay._next_items(p_request replay.request, p_limit int)
  returns int[]
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  if exists (
    select from replay.barrier b
    where (b.host_id, b.request_id) = (p_request.host_id, p_request.request_id))
  then
    raise exception 'a chunk of request % is begun and not settled', p_request.request_id
      using errcode = 'RP207', detail = jsonb_build_object('request_id', p_request.request_id),
            hint = 'Call settle_items first.';
  end if;

  return array(
    select n.item_no
    from (
      select i.item_no, row_number() over up_to as place, sum(s.scope_count) over up_to as scopes
      from (
        select x.*
        from replay.request_item x
        where (x.host_id, x.request_id) = (p_request.host_id, p_request.request_id)
          and x.status = 'PENDING'
        order by x.item_no
        limit greatest(p_limit, 1)) i
      cross join lateral (
        select count(*) as scope_count
        from replay.failure_scope f
        where (f.host_id, f.failure_id) = (i.host_id, i.failure_id)) s
      window up_to as (order by i.item_no)
    ) n
    where n.place = 1 or n.scopes <= 500
    order by n.item_no);
end;
$$;

comment on function replay._next_items is
'The next chunk of a request: pending items in the order of the plan, up to p_limit and 500 scopes.

Raises RP207 when a chunk is begun and not settled.';

revoke all on function replay._next_items from public;
