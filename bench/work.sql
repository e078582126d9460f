-- What the benchmarks need beside the engine and examples/permits/schema.sql: handlers, the floor
-- that has no engine, and the events that are made of the ones that were appended.
create schema bench;

create table bench.plain (
  transaction_no bigint not null,
  ordinal int not null,
  host_id uuid not null,
  payload bytea not null,
  primary key (transaction_no, ordinal)
);
comment on table bench.plain is 'The same events in the same order, for a loop without an engine.';

create unlogged table bench.piece (
  host_id uuid not null,
  place bigint not null,
  transaction_id text not null,
  ordinal int not null,
  payload bytea not null
);
comment on table bench.piece is 'Events to be stored by store.sql as if they had been appended.';

create function bench.keep(p_host_id uuid, p_event jsonb)
  returns void
  language plpgsql
  volatile
as $$
begin
  insert into permits.permit_case_clean as c
    (host_id, case_id, version, last_step, steps, days_to_deadline, end_date)
  values (p_host_id, p_event ->> 'subject', (p_event ->> 'aggregateversion')::bigint,
    p_event #>> '{data,step}', 1,
    floor(extract(epoch from (p_event #>> '{data,deadline}')::timestamptz
      - (p_event ->> 'time')::timestamptz) / 86400)::int,
    nullif(p_event #>> '{data,endDate}', '')::timestamptz)
  on conflict (host_id, case_id) do update set
    version = excluded.version,
    last_step = excluded.last_step,
    steps = c.steps + 1,
    days_to_deadline = excluded.days_to_deadline,
    end_date = excluded.end_date
  where c.version < excluded.version;
end;
$$;
comment on function bench.keep is 'What keep_clean of examples/permits/app.py does, as a handler.';

create function bench.keep_most(p_host_id uuid, p_event jsonb)
  returns void
  language plpgsql
  volatile
as $$
begin
  if p_event ->> 'subject' like '%4' then
    raise exception 'no case of these' using errcode = 'data_exception';
  end if;
  perform bench.keep(p_host_id, p_event);
end;
$$;
comment on function bench.keep_most is 'As bench.keep, but fails on one case in ten.';

create function bench.keep_all(p_events jsonb)
  returns void
  language plpgsql
  volatile
as $$
declare
  v_event jsonb;
begin
  for v_event in select e.event from jsonb_array_elements(p_events) e (event) loop
    -- Not by bench.keep: the floor has no call of a handler in it.
    insert into permits.permit_case_clean as c
      (host_id, case_id, version, last_step, steps, days_to_deadline, end_date)
    values ((v_event ->> 'host')::uuid, v_event ->> 'subject',
      (v_event ->> 'aggregateversion')::bigint, v_event #>> '{data,step}', 1,
      floor(extract(epoch from (v_event #>> '{data,deadline}')::timestamptz
        - (v_event ->> 'time')::timestamptz) / 86400)::int,
      nullif(v_event #>> '{data,endDate}', '')::timestamptz)
    on conflict (host_id, case_id) do update set
      version = excluded.version,
      last_step = excluded.last_step,
      steps = c.steps + 1,
      days_to_deadline = excluded.days_to_deadline,
      end_date = excluded.end_date
    where c.version < excluded.version;
  end loop;
end;
$$;
comment on function bench.keep_all is 'The bare server loop: all events of one call, no engine.';

create function bench.relabel(p_payload bytea, p_changes jsonb)
  returns bytea
  language sql
  immutable
  return convert_to((convert_from(p_payload, 'UTF8')::jsonb || p_changes || jsonb_build_object(
    'id', md5((p_changes ->> 'transactionid') || '/' || (p_changes ->> 'transactionordinal'))::uuid
  ))::text, 'UTF8');

create function bench.copy_hosts(p_copies int)
  returns void
  language sql
begin atomic
  insert into bench.piece (host_id, place, transaction_id, ordinal, payload)
  select h.copy_id, o.source_offset, e.transaction_id, e.ordinal,
    convert_to(replace(convert_from(e.payload, 'UTF8'), e.host_id::text, h.copy_id::text), 'UTF8')
  from replay.event e
  join replay.outbox o on (o.host_id, o.transaction_id) = (e.host_id, e.transaction_id)
  cross join generate_series(2, p_copies) g (copy_no)
  cross join lateral (select md5(e.host_id::text || g.copy_no)::uuid) h (copy_id);
end;
comment on function bench.copy_hosts is 'The same events again, for other hosts.';

create function bench.copy_beginnings(p_host_id uuid, p_count int)
  returns void
  language sql
begin atomic
  with beginning as (
    select c.*, row_number() over (order by g.copy_no, c.source_offset, c.host_id) as number
    from (
      select e.host_id, e.transaction_id, o.source_offset
      from replay.event e
      join replay.outbox o on (o.host_id, o.transaction_id) = (e.host_id, e.transaction_id)
      where (convert_from(e.payload, 'UTF8')::jsonb ->> 'aggregateversion')::bigint = 1
    ) c
    cross join generate_series(1, p_count) g (copy_no)
    order by g.copy_no, c.source_offset, c.host_id
    limit p_count
  )
  insert into bench.piece (host_id, place, transaction_id, ordinal, payload)
  select p_host_id, b.number, 'beginning-' || b.number, e.ordinal,
    bench.relabel(e.payload, jsonb_build_object('host', p_host_id, 'subject', 'case-' || b.number,
      'transactionid', 'beginning-' || b.number, 'transactionordinal', e.ordinal))
  from beginning b
  join replay.event e on (e.host_id, e.transaction_id) = (b.host_id, b.transaction_id);
end;
comment on function bench.copy_beginnings is
'The first transactions of so many cases, under other names, in one host.';

create function bench.copy_queue(p_host_id uuid, p_count int)
  returns void
  language sql
begin atomic
  with given as (
    select e.payload,
      row_number() over (order by o.source_offset, e.host_id, e.ordinal) - 1 as number
    from replay.event e
    join replay.outbox o on (o.host_id, o.transaction_id) = (e.host_id, e.transaction_id)
  ),
  wanted as (
    select 0 as place, 'head' as transaction_id, 64 as members, c as ordinal, c as case_no,
      1 as version
    from generate_series(0, 63) c
    union all
    select n, 'behind-' || n, 1, 0, (n - 1) % 64, 2 + (n - 1) / 64
    from generate_series(1, p_count) n
  )
  insert into bench.piece (host_id, place, transaction_id, ordinal, payload)
  select p_host_id, w.place, w.transaction_id, w.ordinal,
    bench.relabel(g.payload, jsonb_build_object('host', p_host_id, 'subject', 'case-' || w.case_no,
      'aggregateversion', w.version, 'transactionid', w.transaction_id,
      'transactioncount', w.members, 'transactionordinal', w.ordinal))
  from wanted w
  join given g on g.number = (w.place + w.ordinal) % (select count(*) from given);
end;
comment on function bench.copy_queue is
'One transaction of 64 cases, and behind it so many of one event each, which take turns among the
cases.';

create function bench.copy_chain(p_host_id uuid, p_count int)
  returns void
  language sql
begin atomic
  with given as (
    select e.payload,
      row_number() over (order by o.source_offset, e.host_id, e.ordinal) - 1 as number
    from replay.event e
    join replay.outbox o on (o.host_id, o.transaction_id) = (e.host_id, e.transaction_id)
  ),
  wanted as (
    select n as place, 'failing-' || n as transaction_id, 1 as members, 0 as ordinal,
      'case-' || n as subject, 1 as version
    from generate_series(2, p_count) n
    union all
    select p_count + n, 'waiting-' || n, case when n between 2 and p_count then 2 else 1 end, 0,
      'chain', n
    from generate_series(1, p_count + 2) n
    union all
    select p_count + n, 'waiting-' || n, 2, 1, 'case-' || n, 2
    from generate_series(2, p_count) n
  )
  insert into bench.piece (host_id, place, transaction_id, ordinal, payload)
  select p_host_id, w.place, w.transaction_id, w.ordinal,
    bench.relabel(g.payload, jsonb_build_object('host', p_host_id, 'subject', w.subject,
      'aggregateversion', w.version, 'transactionid', w.transaction_id,
      'transactioncount', w.members, 'transactionordinal', w.ordinal))
  from wanted w
  join given g on g.number = (w.place + w.ordinal) % (select count(*) from given);
end;
comment on function bench.copy_chain is
'So many transactions to fail on, and a chain that begins at the first of them. Each link waits for
the one before it and for a failure of its own; the last two only for the one before.';
