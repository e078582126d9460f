create or replace function replay._check_choice(
  p_argument text,
  p_value text,
  p_allowed text[]
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
begin
  if p_value = any (p_allowed) then
    return;
  end if;
  raise exception '% cannot be "%"', p_argument, left(p_value, 100)
    using errcode = 'RP001',
          detail = jsonb_build_object('argument', p_argument, 'allowed', p_allowed),
          hint = 'It is one of ' || array_to_string(p_allowed, ', ') || '.';
end;
$$;

comment on function replay._check_choice is
'Check an argument that is one of a few words.

Raises RP001, listing the words, when it is another or null.';

revoke all on function replay._check_choice from public;
