create or replace function replay._is_well_shaped(p_event jsonb, p_time text, p_texts text)
  returns boolean
  language sql
  immutable
  -- Optional attributes stand behind a `!`: what is absent or null is not less than anything.
  return p_event @@ '$.specversion == "1.0" && $.host > "" && $.id > "" && $.source > ""
      && $.type > "" && $.transactionid > "" && $.eventschema > "" && exists($.data)
      && $.transactioncount >= 1 && $.transactionordinal >= 0
      && !($.subject <= "") && !($.aggregatetype <= "") && !($.graphroot <= "")
      && !($.time <= "") && !($.aggregateversion < 1) && !($.graphrevision < 1)'
    and (p_time is null or p_time ~ ('^[0-9]{4}(-[0-9]{2}){2}[Tt]([0-9]{2}:){2}[0-9]{2}'
      '(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$'))
    and octet_length(p_texts) <= 512
    -- A path looks into lists; as a text, each of them begins with a bracket.
    and p_texts !~ '[\[\u0001-\u001f\u007f-\u009f]';

comment on function replay._is_well_shaped is
'Tell whether the attributes of an event are surely of the right kinds. False and null are doubts.

p_texts are those whose content is free, put together: short in all, they are short
each.';

revoke all on function replay._is_well_shaped from public;
