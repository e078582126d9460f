create or replace function replay._quote_function(p_function text)
  returns text
  language sql
  immutable
begin atomic
  select string_agg(quote_ident(n.name), '.' order by n.place)
  from string_to_table(p_function, '.') with ordinality n (name, place);
end;

comment on function replay._quote_function is
'The name of a handler as a statement needs it. It is split at dots and not folded.';

revoke all on function replay._quote_function from public;
grant execute on function replay._quote_function to replay_processor;
