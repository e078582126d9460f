begin;
\ir lib/fixtures.psql
\ir lib/steps.psql
select plan(60);

select is(fixture.claim(), '{}'::text[], 'nothing was appended, so there is nothing to do');

-- What a batch looks like
select fixture.append('t1', '{a@1}'), fixture.append('t2', '{a@2}'),
  fixture.append('t3', '{a@3,b@1}'),
  fixture.append('t4', '{b@2}'), fixture.append('n1', '{}')
\g /dev/null
create temp table batch as select * from replay.claim_batch('cases');
select results_eq(
  'select ord, host_id, transaction_id, decision, was_deferred, event_types from batch',
  $$values (1, fixture.host(), 't1', 'APPLY', false, '{Opened}'::text[]),
    (2, fixture.host(), 't2', 'APPLY', false, '{Opened}'),
    (3, fixture.host(), 't3', 'APPLY', false, '{Opened,Opened}'),
    (4, fixture.host(), 't4', 'APPLY', false, '{Opened}'),
    (5, fixture.host(), 'n1', 'APPLY', false, '{Noted}')$$,
  'I4: a batch holds whole transactions in the order of the outbox');
select is(
  array(select follows::text from batch order by ord), '{"{}","{1}","{2}","{3}","{}"}'::text[],
  'follows names what comes right before in a scope');
select is(
  (select array_agg(distinct xact_id) from batch), array[pg_current_xact_id()],
  'the batch belongs to this database transaction');
select results_eq(
  'select ord, event_schemas, payloads from batch',
  $$select b.ord, array_agg(e.event_schema order by e.ordinal), array_agg(e.payload
    order by e.ordinal)
    from batch b join replay.event e using (host_id, transaction_id) group by b.ord
      order by b.ord$$,
  'I2: payloads are the bytes that were appended');
select fixture.complete()
\g /dev/null

-- APPLY, and what makes a transaction next
select fixture.append('t5', '{a@4,a@5}'), fixture.append('t6', '{a@6}'),
  fixture.append('g1', '{#g@1,#g@1,#g@2}'), fixture.append('g2', '{#g@3,c@1}'),
  fixture.append('c2', '{c@2}')
\g /dev/null
select is(
  fixture.claim(), '{t5 APPLY,t6 APPLY,g1 APPLY,g2 APPLY,c2 APPLY}'::text[],
  'I5: members of one root share a revision, ranges follow each other, both kinds of scope count');
select is(
  array(select follows::text from replay.batch_item order by ord),
  '{"{}","{1}","{}","{3}","{4}"}'::text[], 'and each follows its neighbour in any scope');
select fixture.complete()
\g /dev/null
select is(
  array[fixture.progress('Case:a'), fixture.progress('g'), fixture.progress('Case:c')],
  '{6,3,2}'::bigint[], 'progress is the last version of each');

-- DUPLICATE and STALE
select fixture.rewind()
\g /dev/null
select is(
  fixture.claim(3), '{t1 STALE,t2 STALE,t3 STALE}'::text[],
  'ordered and known by progress: STALE');
select is(
  (select count(*) from replay._read_batch(pg_current_xact_id(), true)
    where num_nonnulls(event_types, event_schemas, payloads) > 0), 0::bigint,
  'what is not to be applied comes without its events');
select fixture.complete()
\g /dev/null
select is(fixture.claim(2), '{t4 STALE,n1 DUPLICATE}'::text[],
  'unordered and in the ledger: DUPLICATE');
select fixture.complete(), fixture.process()
\g /dev/null

-- DEFER and OBSERVED behind a failure
select fixture.append('f1', '{f@1,h@1}'), fixture.append('f2', '{f@2}'),
  fixture.append('o1', '{f@3,k@1}'), fixture.append('o2', '{k@2}'), fixture.append('l1', '{l@1}')
\g /dev/null
select is(
  fixture.process('f1'), '{f1 FAIL,f2 DEFER,o1 DEFER,o2 DEFER,l1 APPLY}'::text[],
  'O1: what follows a failure is deferred, O10: whole and over all its scopes, I12: nothing else');
select is(fixture.progress('Case:k'), 0::bigint, 'I4: in no scope was a part of it applied');
select fixture.rewind()
\g /dev/null
select is(
  (fixture.process())[11:15],
  '{f1 OBSERVED,f2 OBSERVED,o1 OBSERVED,o2 OBSERVED,l1 STALE}'::text[],
  'I3: delivered again, a failure and what is deferred are OBSERVED');
select is(
  array[(select count(*) from replay.failure), (select count(*) from replay.deferred)],
  '{1,3}'::bigint[], 'I3: and stay one row each');

-- CONFLICT
select fixture.set_head('Case:f', 0), fixture.append('x1', '{m@1}')
\g /dev/null
select throws_ok($$select fixture.append('x2', '{f@1}')$$, 'RP204', null,
  'an append into the scope of a failure is refused');
select replay.register_projection('other'), replay.start_projection('other')
\g /dev/null
-- The scope of a deferred transaction takes appends where no failure holds it.
select fixture.set_head('Case:k', 0)
\g /dev/null
select fixture.append('x2', '{k@1}'), fixture.append('x3', '{k@2,p@1}'),
  fixture.append('x4', '{q@1}')
\g /dev/null
select is(
  fixture.process(), '{x1 APPLY,x2 CONFLICT,x3 CONFLICT,x4 APPLY}'::text[],
  'a version that a deferred transaction of another id holds is a CONFLICT');
select results_eq(
  'select transaction_id, other_transaction_id from replay.evidence order by 1',
  $$values ('x2', 'o1'), ('x3', 'o2')$$, 'the evidence names both');
select is(fixture.progress('Case:p'), 0::bigint, 'I4: of which no part is applied');
select fixture.set_head('Case:a', 3)
\g /dev/null
select fixture.append('x5', '{a@4}'), fixture.append('x6', '{a@5,a@6,a@7}'),
  fixture.append('x7', '{b@3}')
\g /dev/null
select fixture.set_head('Case:a', 1)
\g /dev/null
select fixture.append('x8', '{a@2,b@4}')
\g /dev/null
select is(
  fixture.process(), '{x5 STALE,x6 CONFLICT,x7 APPLY,x8 CONFLICT}'::text[],
  'D1: a transaction that is behind in one version and not in all is a CONFLICT');
select fixture.set_head('Case:b', 3)
\g /dev/null
select fixture.append('b4', '{b@4}')
\g /dev/null
select is(fixture.process(), '{b4 APPLY}'::text[],
  'D1: it holds no scope: the next one goes on with its own version');
select fixture.set_head('Case:p', 0), fixture.append('pb', '{p@1}')
\g /dev/null
select fixture.set_head('Case:p', 0), fixture.append('pa', '{p@1}')
\g /dev/null
select is(fixture.process(), '{pb APPLY,pa DEFER,pa STALE}'::text[],
  'of two that carry one version the first is applied, and the other is STALE');
select is_empty(
  $$select from replay.evidence e
    join replay.deferred d on (d.host_id, d.transaction_id) = (e.host_id, e.transaction_id)
    union all
    select from replay.evidence e
    join replay.failure f on (f.host_id, f.transaction_id) = (e.host_id, e.transaction_id)$$,
  'evidence is neither a failure nor deferred');

-- Wake rows
select fixture.append('w1', '{w@1}'), fixture.append('w2', '{w@2}'),
  fixture.append('w3', '{w@3,v@1}'),
  fixture.append('w4', '{w@4}'), fixture.append('v2', '{v@2}')
\g /dev/null
select is(
  fixture.process('w1'), '{w1 FAIL,w2 DEFER,w3 DEFER,w4 DEFER,v2 DEFER}'::text[], 'five wait');
select is_empty('select * from replay.wake', 'a poll costs nothing when nothing woke');
select is(fixture.claim(p_woken_only => true), '{}'::text[], 'so there is nothing to drain');
select fixture.intended('{w1}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select fixture.append('y1', '{y@1}'), fixture.append('y2', '{y@2}'), fixture.append('w5', '{w@5}')
\g /dev/null
select is(
  array(select transaction_id from replay.wake), '{w2}'::text[],
  'only what is next is woken');
select is(
  fixture.claim(4), '{w2 APPLY,w3 APPLY,y1 APPLY,y2 APPLY}'::text[],
  'at most half a batch is woken; what follows a woken one comes along');
select is(
  array(select was_deferred from replay.batch_item order by ord), '{t,t,f,f}'::boolean[],
  'and is told from what is read');
select fixture.complete()
\g /dev/null
select is(
  fixture.claim(p_woken_only => true), '{w4 APPLY,v2 APPLY}'::text[],
  'p_woken_only reads no outbox');
select fixture.complete()
\g /dev/null
select is(fixture.process(), '{w5 APPLY}'::text[], 'O9: live work follows what was deferred');
select is_empty('select * from replay.wake', 'what was woken and applied leaves no hint');

-- D3: woken in one scope only
select fixture.append('d1', '{d@1}'), fixture.append('e1', '{e@1}'),
  fixture.append('d2', '{d@2,e@2}')
\g /dev/null
select is(fixture.process('d1', 'e1'), '{d1 FAIL,e1 FAIL,d2 DEFER}'::text[], 'one waits for two');
select fixture.intended('{d1}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select is(fixture.process(), '{d2 DEFER}'::text[],
  'D3: woken by one, it still waits for the other');
select is_empty('select * from replay.wake', 'D3: its hint is used up');
select fixture.intended('{e1}'), fixture.claim_request(), fixture.run_chunk()
\g /dev/null
select is(fixture.process(), '{d2 APPLY}'::text[],
  'D3: the other wakes it again, and it is applied');

-- Barriers
select fixture.append('r1', '{r@1,s@1}'), fixture.append('r2', '{r@2}'),
  fixture.append('s2', '{s@2}')
\g /dev/null
select fixture.claim(1), fixture.complete('r1')
\g /dev/null
select fixture.intended('{r1}'), fixture.claim_request(), fixture.begin_items()
\g /dev/null
select is(fixture.process(), '{r2 DEFER,s2 DEFER}'::text[], 'live work waits behind a failure');
select fixture.load_items(), fixture.complete_items()
\g /dev/null
select is(fixture.progress('Case:r'), 1::bigint, 'its item is applied');
select fixture.append('r3', '{r@3}'), fixture.append('z1', '{z@1}')
\g /dev/null
select is(
  fixture.process(), '{r3 DEFER,z1 APPLY}'::text[],
  'I12: under a barrier live work waits, elsewhere it flows');
-- A hint is harmless, whoever writes it.
insert into replay.wake (host_id, projection_id, lane, transaction_id)
select host_id, projection_id, lane, transaction_id from replay.deferred
  where transaction_id = 's2';
select is(
  fixture.process(), '{s2 DEFER}'::text[],
  'I11: also what is next and woken waits until the barrier is lowered');
select fixture.settle_items()
\g /dev/null
select bag_eq(
  'select unnest(fixture.process())', $$values ('r2 APPLY'), ('r3 APPLY'), ('s2 APPLY')$$,
  'I11: and then is applied, once');

-- Where a batch is cut
select fixture.append('m' || n,
  array(select 'm' || n || '_' || s || '@1' from generate_series(1, 60) s))
from generate_series(1, 9) n
\g /dev/null
select is(cardinality(fixture.claim()), 8, 'a batch is cut at 500 scopes');
select fixture.complete()
\g /dev/null
select is(fixture.claim(), '{m9 APPLY}'::text[], 'the rest comes next');
select fixture.complete()
\g /dev/null
create function pg_temp.append_large(p_transaction_id text) returns void language sql
begin atomic
  select replay.append_transaction(fixture.host(), p_transaction_id, array[convert_to(
    jsonb_build_object('specversion', '1.0', 'id', p_transaction_id || '/1', 'source', 'test',
    'host',
      fixture.host(), 'transactionid', p_transaction_id, 'transactioncount', 1,
      'transactionordinal', 0, 'eventschema', '1', 'type', 'Noted', 'data',
      jsonb_build_object('text', repeat('x', 4000000)))::text, 'UTF8')],
    (select r.digest from replay.registry r order by r.registry_version desc limit 1));
end;
select pg_temp.append_large('big' || n) from generate_series(1, 5) n
\g /dev/null
set constraints all immediate;
set constraints all deferred;
select is(
  array(select unnest(fixture.claim()) order by 1),
    '{big1 APPLY,big2 APPLY,big3 APPLY,big4 APPLY}'::text[],
  'and at 16 MiB');
select fixture.complete(), fixture.process()
\g /dev/null
select fixture.append('n2', '{}'), fixture.append('alone1', '{}', 'Mailed'),
  fixture.append('alone2', '{}', 'Mailed'), fixture.append('n3', '{}')
\g /dev/null
select is(fixture.claim(), '{n2 APPLY}'::text[], 'and before one that runs alone');
select fixture.complete()
\g /dev/null
select is(fixture.claim(), '{alone1 APPLY}'::text[], 'which is a batch of its own');
select fixture.complete()
\g /dev/null
select is(fixture.claim(), '{alone2 APPLY}'::text[], 'and the next of its kind another');
select fixture.complete()
\g /dev/null
select is(fixture.claim(1), '{n3 APPLY}'::text[], 'p_limit is a bound too');
select fixture.complete()
\g /dev/null

-- Gaps: h1 stays unread in its lane
select fixture.process()
\g /dev/null
select replay.set_lanes(fixture.host(), 2), fixture.in_lane(0) as zero, fixture.in_lane(1) as one
\gset
select fixture.append('h1', array[:'one' || '@1']), fixture.append('h2', array[:'zero' || '@1',
  :'one' || '@2']),
  fixture.append('h3', array[:'zero' || '@2'])
\g /dev/null
select is(
  array(select transaction_id || ' ' || decision from replay.claim_batch('cases', p_lane => 0)),
  '{h2 DEFER,h3 DEFER}'::text[], 'O12: what is ahead of a version not seen yet waits, I5: whole');
select fixture.complete()
\g /dev/null
select is_empty(
  $$select replay.claim_batch('cases', p_host_id => '22222222-2222-4222-8222-222222222222')$$,
  'another host has nothing to do');
select is(
  array(select transaction_id || ' ' || decision
    from replay.claim_batch('cases', p_host_id => fixture.host(), p_lane => 1)),
  '{h1 APPLY}'::text[], 'its lane brings the missing one');
select fixture.complete()
\g /dev/null
select is(
  fixture.process(), '{h2 APPLY,h3 APPLY}'::text[],
  'O12: and the gap heals by itself, in the lane the deferred one came from');

-- Several positions
select fixture.append('u1', '{a@1}',
  p_host_id => ('33333333-3333-4333-8333-' || lpad(n::text, 12, '0'))::uuid)
from generate_series(1, 17) n
\g /dev/null
select is(cardinality(fixture.claim()), 16, 'a batch claims up to 16 positions');
select fixture.complete()
\g /dev/null

-- Refusals
select replay.register_projection('new')
\g /dev/null
select throws_ok($$select replay.claim_batch('new')$$, 'RP213', null, 'a projection has to start');
update replay.projection set status = 'RETIRED' where projection = 'new';
select throws_ok($$select replay.claim_batch('new')$$, 'RP213', null, 'and not to be retired');
select throws_ok($$select replay.claim_batch('nobody')$$, 'RP101', null, 'and to be registered');
select throws_ok($$select replay.claim_batch('cases', 'other')$$, 'RP101', null,
  'by its consumer group too');
select throws_ok($$select replay.claim_batch('cases', p_limit => 0)$$, 'RP001', null,
  'a batch has room');
select throws_ok($$select replay.claim_batch('cases', p_limit => 501)$$, 'RP001', null,
  'for 5,000 at most');
select throws_ok($$select replay.claim_batch('cases', p_limit => null)$$, 'RP001', null,
  'and not for null');

select * from finish();
rollback;
