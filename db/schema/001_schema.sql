-- pyreplay in one page. Everything else in this folder is detail of what stands here.
--
-- Vocabulary
--   host         the tenant; host_id leads the keys of everything that belongs to one
--   transaction  the events appended together; the only unit of capture, deferral, planning, replay
--   member       an event at its ordinal in a transaction
--   projection   a read model and its consumer group
--   scope        AGGREGATE type:id, GRAPH_ROOT id; TRANSACTION id for transactions without either
--   progress     the last version of an ordered scope that a projection applied
--   next         a transaction is next when each version it carries comes right after progress
--   position     where a projection stands in one lane of the outbox
--   failure      one canonical failed transaction: OPEN, RESOLVED or WAIVED
--   deferred     a live transaction kept, whole, until it is next
--   evidence     a record of what can never be a candidate; holds no scope
--   observation  one more delivery of a failure or of a deferred transaction
--   request      an immutable replay plan and its life; item, attempt, run: parts of that life
--   barrier      stands on a scope while a chunk of items executes there
--   fence, lease the token of a holder, and until when its claim is presumed alive
--
-- Life of a transaction
--   append -> outbox -> claim_batch decides -> APPLY: handlers run -> applied
--                                           |  a handler fails     -> failure OPEN
--                                           -> DEFER: kept until it is next, then woken
--   failure OPEN -> create_request -> approve_request -> execute_request
--                -> claim_request, (begin_items, load_items, complete_items, settle_items)*
--                -> failure RESOLVED, and what waited behind it flows by itself
--
-- The one ordering rule: a transaction is applied when it is next in every ordered scope it
-- carries. One that is ahead anywhere waits, whole.
--
-- Lock order (take locks in this order, or not at all; each set sorted by its key)
--   1 position   2 request   3 failures by id   4 repairs by id   5 scope locks by key
--   6 rows that handlers touch   7 engine rows   8 counters
-- Scope locks are advisory, transaction-scoped and taken before any handler of the database
-- transaction, or not at all. Row locks are `for no key update`, never `for update`, so that a
-- reference to a row (an observation, say) never waits for the row's holder.
comment on schema replay is
'Event store and replay engine. Call the functions, read the views; never touch the tables.';

grant usage on schema replay
to replay_reader, replay_operator, replay_approver, replay_processor, replay_appender,
  replay_gateway;
