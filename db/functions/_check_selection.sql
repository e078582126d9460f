create or replace function replay._check_selection(
  p_strategy text,
  p_failure_ids uuid[],
  p_transaction_ids text[],
  p_scopes jsonb
)
  returns void
  language plpgsql
  immutable
  set search_path = ''
as $$
declare
  v_wrong text;
begin
  perform replay._check_choice('strategy', p_strategy, '{EXACT,DEPENDENCY_CLOSURE}');
  v_wrong := case
    when array_position(p_failure_ids, null) is not null then 'a failure id is null'
    when array_position(p_transaction_ids, null) is not null then 'a transaction id is null'
    when jsonb_typeof(p_scopes) <> 'array' then 'the scopes are no array'
    when exists (
      select from jsonb_array_elements(p_scopes) s (scope)
      where (s.scope ->> 'scope_type' in ('AGGREGATE', 'GRAPH_ROOT')
        and jsonb_typeof(s.scope -> 'scope_key') = 'string') is not true)
      then 'a scope is none of an aggregate or graph'
    when p_strategy = 'EXACT' and (p_transaction_ids <> '{}' or p_scopes <> '[]')
      then 'EXACT takes failure ids only'
    when coalesce(p_failure_ids, '{}') = '{}' and coalesce(p_transaction_ids, '{}') = '{}'
      and coalesce(p_scopes, '[]') = '[]' then 'nothing is selected'
  end;
  if v_wrong is not null then
    raise exception 'this is no selection: %', v_wrong
      using errcode = 'RP001', detail = jsonb_build_object('strategy', p_strategy),
            hint = 'Name failures; or, with DEPENDENCY_CLOSURE, deferred transactions and scopes, '
              'each as {"scope_type": "AGGREGATE" or "GRAPH_ROOT", "scope_key": ...}.';
  end if;

  if greatest(cardinality(p_failure_ids), cardinality(p_transaction_ids),
    jsonb_array_length(p_scopes)) > 10000
  then
    raise exception 'a selection of more than 10000 is too large'
      using errcode = 'RP009', detail = jsonb_build_object('limit', 10000),
            hint = 'Select fewer and make several plans.';
  end if;
end;
$$;

comment on function replay._check_selection is
'Check the form of a selection. Whether what it names exists is asked later.

Raises RP001 when it is malformed, empty or not for this strategy; RP009 when it names more than
10,000 of a kind.';

revoke all on function replay._check_selection from public;
