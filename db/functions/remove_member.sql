create or replace function replay.remove_member(p_member text, p_host_id uuid default null)
  returns void
  language plpgsql
  volatile
  security definer
  set search_path = ''
as $$
begin
  delete from replay.host_member m
  where m.member = p_member and m.host_id is not distinct from p_host_id;
  if found then
    perform replay._audit(p_host_id, 'MEMBER_REMOVED',
      p_detail => jsonb_build_object('member', p_member));
  end if;
end;
$$;

comment on function replay.remove_member is
'Take back one membership as add_member gave it; nothing happens when there is none. For owners of
the engine.

p_host_id: null: the one of every host; those of single hosts stay.';

revoke all on function replay.remove_member from public;
