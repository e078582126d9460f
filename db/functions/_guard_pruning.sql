create or replace function replay._guard_pruning()
  returns trigger
  language plpgsql
  volatile
  set search_path = ''
as $$
begin
  if old.source_offset <= (
    select l.pruned_offset
    from replay.outbox_lane l
    where (l.host_id, l.lane) = (old.host_id, old.lane))
  then
    return old;
  end if;
  raise exception 'offset % of lane % is kept', old.source_offset, old.lane
    using errcode = 'RP216',
          detail = jsonb_build_object('lane', old.lane, 'source_offset', old.source_offset),
          hint = 'Only prune_outbox removes what every projection has read.';
end;
$$;

comment on function replay._guard_pruning is
'Keep the rows of the outbox behind the bound that prune_outbox has set.

Raises RP216.';

revoke all on function replay._guard_pruning from public;

create trigger outbox_kept before delete on replay.outbox
for each row execute function replay._guard_pruning();
