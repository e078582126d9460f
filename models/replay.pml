/* Scope locks, barriers, deferral, wake rows, drain, claim, fence and release as a model for spin.

   What it shows. Two scopes, A and B, on two lanes. F failed before we start. Two live processors,
   two executors and a release work on what is left, in every order there is, and each may crash
   between any two steps. Whatever they do:
     - a scope applies its versions 1, 2, 3 ..., each transaction once           (I5, I10, I11)
     - nothing live is applied, or captured, in a scope under a barrier          (I11)
     - a holder whose fence was raised since writes nothing                      (I9)
     - once nobody can go on, no lock and no barrier is left, every transaction is applied, captured
       or deferred, and none that is deferred is next                            (I1, I5)

   Run it, as tests/test_model.py does (half a minute, half a gigabyte):
     spin -a replay.pml && gcc -O2 -DSAFETY -w -o pan pan.c && ./pan -m20000
   "errors: 0" without "Search not completed" is the proof. Switches, given to spin:
     -DWIDE                       F spans both scopes
     -DTWO_REQUESTS               each executor has a request of its own, and F is in both
   and three bugs, of each of which pan must find a trail (to read it: spin -t -p, same switch):
     -DBUG_SETTLE_WITHOUT_LOCKS   a settle reads whom to wake without the scope locks
     -DBUG_LOCK_AFTER_HANDLER     a live batch decides and runs its handlers, then locks its scopes
     -DBUG_UNFENCED_FINISH        settle_items and yield_request without _lock_held_request

   What each process mirrors
     live      process_batch in pyreplay/live.py: claim_batch (_claim_positions, _read_candidates,
               _read_woken, _lock_scopes, _decide), handlers, complete_batch (_capture, _defer,
               _move_progress, _wake_next, _move_positions)
     executor  execute in pyreplay/execution.py: claim_request, settle_items; begin_items
               (_try_scope_locks), load_items (_check_items), handlers, complete_items, settle_items
               (_lower_barriers); or yield_request; CLAIMS a request, at most
     release   the second person's release_request: fence + 1, _lower_barriers, FAILED

   Database transactions. A step (an atomic or a d_step) reads what was committed by then; what it
   concludes stays in variables of its process; COMMIT is one step, which writes it all and lets go
   of the locks. A crash before it leaves nothing, a crash after it everything, barriers too.
   Locks, and what is read right behind them, are one step, the moment of the last lock: what others
   could do while only the first was held, they can also do, or leave, before that moment. So locks
   taken in an order that deadlocks are not this model's business.

   Abstractions
     - A batch reads one lane; how many transactions at most (`limit`) is anybody's guess.
     - A claim may come at any time, as if the lease had just run out, and the former holder goes on
       until its fence stops it. This covers every lease, liveness lock and budget.
     - What an executor drains after its request is a live batch like others, hence live's. Only two
       lanes can be worked on at once, and two processors can hold them.
     - All is appended before we start: what is not yet read may as well not be there yet.
     - The outbox delivers once: nothing is DUPLICATE, OBSERVED, STALE or CONFLICT.
     - A request has one item, so one chunk. Of a batch only 2 may fail, and nobody replays that. */

#ifdef TWO_REQUESTS
#define REQUESTS 2
#define CLAIMS 1
#define LAST 3
#else
#define REQUESTS 1
#define CLAIMS 3
#define LAST 4
#endif

#define A 0
#define B 1
#define F 0       /* the transaction that has failed; 1 to LAST are in the outbox */

/* Sets of transactions or scopes are bit masks. */
#define ONE(x) (1 << (x))
#define EACH (ONE(LAST + 1) - 1)
#define HAS(set, x) ((set) & ONE(x))

/* Which version of A and of B each transaction carries; none: 0. */
#define AT(tx, version) ((version) << (3 * (tx)))
#ifdef WIDE
#define VERSIONS_A (AT(F, 1) | AT(2, 2) | AT(4, 3))
#define VERSIONS_B (AT(F, 1) | AT(1, 2) | AT(2, 3) | AT(3, 4))
#define IN_A (ONE(F) | ONE(2) | ONE(4))
#define IN_B (ONE(F) | ONE(1) | ONE(2) | ONE(3))
#define SCOPES_OF_F (ONE(A) | ONE(B))
#else
#define VERSIONS_A (AT(F, 1) | AT(2, 2) | AT(4, 3))
#define VERSIONS_B (AT(1, 1) | AT(2, 2) | AT(3, 3))
#define IN_A (ONE(F) | ONE(2) | ONE(4))
#define IN_B (ONE(1) | ONE(2) | ONE(3))
#define SCOPES_OF_F ONE(A)
#endif
#define VERSION(tx, sc) (((sc == A -> VERSIONS_A : VERSIONS_B) >> (3 * (tx))) & 7)
#define IN(sc) (sc == A -> IN_A : IN_B)
#define SCOPES(set) (((set) & IN_A -> ONE(A) : 0) | ((set) & IN_B -> ONE(B) : 0))
#define LANE(l) (l == 0 -> ONE(2) | ONE(4) : ONE(1) | ONE(3))

mtype = { PENDING, SUCCEEDED, FAILED };

/* Rows, as committed. */
byte unread = EACH & ~ONE(F);  /* the outbox behind the positions */
byte progress[2];
byte deferred;
byte wake;
byte open = ONE(F);         /* OPEN failures */
byte barrier[2];            /* whose: request + 1; none: 0 */
byte barrier_fence[2];
byte fence[REQUESTS];
bool ended[REQUESTS];
mtype item[REQUESTS] = PENDING;

/* Locks. */
bool position_lock[2];      /* by lane */
bool request_lock[REQUESTS];
byte scope_locks;           /* the set of those held */

/* What handlers did; for the asserts alone. */
byte applied;
byte seen[2];

/* Used within a step only. */
hidden byte tx, sc, count, kept, forgotten, right;
hidden byte to[2];

/* A handler's effect and progress. */
inline apply(x) {
  assert(!HAS(applied, x));
  applied = applied | ONE(x);
  for (sc : A .. B) {
    if
    :: VERSION(x, sc) ->
      assert(VERSION(x, sc) == seen[sc] + 1);
      seen[sc] = VERSION(x, sc);
      progress[sc] = VERSION(x, sc)
    :: else
    fi
  }
}

/* ------------------------------------------------------------------------------------- live */

/* _read_woken: what is woken and what is right behind, half of the batch; then the outbox. */
inline read_candidates() {
  count = 0;
  for (tx : 1 .. LAST) {
    if
    :: count < (limit + 1) / 2 && HAS(deferred & LANE(lane), tx) && (HAS(wake, tx) ||
        (VERSION(tx, A) && (woken & IN_A)) || (VERSION(tx, B) && (woken & IN_B))) ->
      woken = woken | ONE(tx);
      count++
    :: else
    fi
  }
  for (tx : 1 .. LAST) {
    if
    :: count < limit && HAS(unread & LANE(lane), tx) -> fresh = fresh | ONE(tx); count++
    :: else
    fi
  }
}

#define IS_NEXT(tx, sc) (!VERSION(tx, sc) || (VERSION(tx, sc) == to[sc] + 1 && !barrier[sc]))

inline decide_one() {
  if
  :: IS_NEXT(tx, A) && IS_NEXT(tx, B) ->
    todo = todo | ONE(tx);
    for (sc : A .. B) { if :: VERSION(tx, sc) -> to[sc] = VERSION(tx, sc) :: else fi }
  :: else
  fi
}

/* In the order of the batch, each transaction taking the earlier ones into account. */
inline decide() {
  for (sc : A .. B) { to[sc] = progress[sc] }
  for (tx : 1 .. LAST) { if :: HAS(woken, tx) -> decide_one() :: else fi }
  for (tx : 1 .. LAST) { if :: HAS(fresh, tx) -> decide_one() :: else fi }
}

/* Behind _defer of the same database transaction, whose deferrals it sees. */
inline wake_next() {
  kept = (deferred | fresh) & ~(todo | failing);
  for (sc : A .. B) {
    to[sc] = 0;
    for (tx : 1 .. LAST) {
      if :: HAS(todo, tx) && VERSION(tx, sc) -> to[sc] = VERSION(tx, sc) :: else fi
    }
    for (tx : 1 .. LAST) {
      if
      :: to[sc] && HAS(kept, tx) && VERSION(tx, sc) && VERSION(tx, sc) <= to[sc] + 1 ->
        waking = waking | ONE(tx)
      :: else
      fi
    }
  }
}

/* The compare of _move_progress; if it is not right, RP501 rolls the batch back. */
inline compare() {
  right = true;
  for (sc : A .. B) {
    to[sc] = progress[sc];
    for (tx : 1 .. LAST) {
      if
      :: HAS(todo, tx) && VERSION(tx, sc) ->
        right = right && VERSION(tx, sc) == to[sc] + 1;
        to[sc] = VERSION(tx, sc)
      :: else
      fi
    }
  }
}

inline commit_batch() {
  for (sc : A .. B) { assert(!(barrier[sc] && ((todo | failing) & IN(sc)))) }
  for (tx : 1 .. LAST) { if :: HAS(todo, tx) -> apply(tx) :: else fi }
  open = open | failing;
  deferred = (deferred | fresh) & ~(todo | failing);
  wake = ((wake & ~woken) | waking) & deferred;
  unread = unread & ~fresh
}

inline end_batch() {
  scope_locks = scope_locks & ~held;
  position_lock[lane] = false;
  held = 0; lane = 0; woken = 0; fresh = 0; todo = 0; failing = 0; waking = 0
}

#define CLAIMABLE(l) (!position_lock[l] && ((unread | wake) & LANE(l)))

proctype live(bool second) {
  byte lane, limit, woken, fresh, held, todo, failing, waking;

end_idle:
  atomic {
    /* Two idle ones are alike, so the second begins only beside the first. */
    if
    :: CLAIMABLE(0) && (!second || position_lock[1]) -> lane = 0
    :: CLAIMABLE(1) && (!second || position_lock[0]) -> lane = 1
    fi;
    position_lock[lane] = true;
    if :: limit = 1 :: limit = 3 fi;
    read_candidates();
    limit = 0
  }
#ifdef BUG_LOCK_AFTER_HANDLER
  d_step { decide() }
#endif
  if
  :: atomic {
      !(scope_locks & SCOPES(woken | fresh)) ->
      held = SCOPES(woken | fresh);
      scope_locks = scope_locks | held;
#ifndef BUG_LOCK_AFTER_HANDLER
      decide()
#endif
    }
  :: goto crashed
  fi;
  atomic {
    /* Handlers. That of 2 may fail; all that is behind it is skipped. */
    if
    :: true
    :: HAS(todo, 2) -> failing = ONE(2); todo = todo & ONE(1)
    :: goto crashed
    fi;
    wake_next()
  }
  if
  :: d_step {
      compare();
#ifndef BUG_LOCK_AFTER_HANDLER
      assert(right);
#endif
      if :: right -> commit_batch() :: else fi;
      end_batch()
    }
  :: goto crashed
  fi;
  goto end_idle;

crashed:
  atomic { end_batch(); goto end_idle }
}

/* --------------------------------------------------------------------------------- executor */

#define IS_HELD(r, mine) (fence[r] == mine && !ended[r])
/* Scopes under a barrier: of anybody's, of request r's. */
#define STANDING ((barrier[A] -> ONE(A) : 0) | (barrier[B] -> ONE(B) : 0))
#define BARRED(r) ((barrier[A] == r + 1 -> ONE(A) : 0) | (barrier[B] == r + 1 -> ONE(B) : 0))

#define BEGUN(r, mine) ((barrier[A] == r + 1 && barrier_fence[A] == mine) || \
  (barrier[B] == r + 1 && barrier_fence[B] == mine))

inline raise_barriers() {
  for (sc : A .. B) {
    if :: HAS(SCOPES_OF_F, sc) -> barrier[sc] = r + 1; barrier_fence[sc] = mine :: else fi
  }
}

/* _lower_barriers, under the scope locks: read whom to wake; then write, at COMMIT. */
inline read_next_below_barriers() {
  for (sc : A .. B) {
    for (tx : 1 .. LAST) {
      if
      :: HAS(BARRED(r), sc) && HAS(deferred, tx) && VERSION(tx, sc) &&
          VERSION(tx, sc) <= progress[sc] + 1 ->
        waking = waking | ONE(tx)
      :: else
      fi
    }
  }
}

inline lower_barriers() {
  wake = wake | (waking & deferred);
  for (sc : A .. B) {
    if :: barrier[sc] == r + 1 -> barrier[sc] = 0; barrier_fence[sc] = 0 :: else fi
  }
}

#ifdef BUG_SETTLE_WITHOUT_LOCKS
#define MAY_SETTLE true
#else
#define MAY_SETTLE !(scope_locks & BARRED(r))
#endif

inline end_transaction() {
  scope_locks = scope_locks & ~held;
  request_lock[r] = request_lock[r] && !has_row;
  held = 0; waking = 0; has_row = false
}

proctype executor(byte r; bool second) {
  byte mine, held, waking;
  bool has_row, stops, is_stale;

claim:
  if
  :: atomic {
      !request_lock[r] && !ended[r] && fence[r] < CLAIMS && (!second || fence[r]) ->
      fence[r]++;
      mine = fence[r]
    }
  :: ended[r] || fence[r] >= CLAIMS -> goto done
  fi;

settle:
  /* settle_items, or yield_request when it stops. */
  if
#ifdef BUG_UNFENCED_FINISH
  :: atomic {
      !(scope_locks & BARRED(r)) ->
#else
  :: atomic { !request_lock[r] && !IS_HELD(r, mine) -> goto lost }
  :: atomic {
      !request_lock[r] && IS_HELD(r, mine) && MAY_SETTLE ->
      request_lock[r] = true;
      has_row = true;
#endif
#ifndef BUG_SETTLE_WITHOUT_LOCKS
      held = BARRED(r);
      scope_locks = scope_locks | held;
#endif
      read_next_below_barriers()
    }
  :: goto crashed
  fi;
  if
  :: atomic {
      assert(IS_HELD(r, mine));
      lower_barriers();
      end_transaction();
      if
      :: stops -> stops = false; mine = 0; goto claim
      :: !stops && (is_stale || item[r] != PENDING) ->
        assert(item[r] != SUCCEEDED || HAS(applied, F));
        ended[r] = true;
        is_stale = false;
        mine = 0;
        goto claim
      :: else
      fi
    }
  :: goto crashed
  fi;

  /* begin_items. What is busy stays so for a while, or until PAUSE_TIMEOUT. */
  if
  :: atomic { !request_lock[r] && !IS_HELD(r, mine) -> goto lost }
  :: atomic {
      !request_lock[r] && IS_HELD(r, mine) && !((scope_locks | STANDING) & SCOPES_OF_F) ->
      request_lock[r] = true;
      has_row = true;
      held = SCOPES_OF_F;
      scope_locks = scope_locks | held
    }
  :: stops = true; goto settle
  :: goto crashed
  fi;
  if
  :: d_step { assert(IS_HELD(r, mine)); raise_barriers(); end_transaction() }
  :: goto crashed
  fi;

  /* load_items. The plan rests on F being OPEN; with no barrier of its fence it finds no item. */
  if
  :: atomic { !request_lock[r] && !IS_HELD(r, mine) -> goto lost }
  :: atomic {
      !request_lock[r] && IS_HELD(r, mine) && BEGUN(r, mine) && HAS(open, F) ->
      request_lock[r] = true;
      has_row = true
    }
  :: atomic {
      !request_lock[r] && IS_HELD(r, mine) && BEGUN(r, mine) && !HAS(open, F) ->
      is_stale = true;
      goto settle
    }
  :: stops = true; goto settle
  :: goto crashed
  fi;
  /* Handlers, and complete_items: done, failed, or stopped and rolled back. */
  if
  :: d_step {
      assert(IS_HELD(r, mine));
      apply(F);
      open = open & ~ONE(F);
      item[r] = SUCCEEDED;
      end_transaction()
    }
  :: d_step { assert(IS_HELD(r, mine)); item[r] = FAILED; end_transaction() }
  :: d_step { stops = true; end_transaction() }
  :: goto crashed
  fi;
  goto settle;

lost:
crashed:
  atomic { end_transaction(); stops = false; is_stale = false; mine = 0; goto claim };

done:
  skip
}

proctype release(byte r) {
  byte mine, held, waking;
  bool has_row;

again:
  if
  :: atomic {
      !request_lock[r] && !ended[r] && MAY_SETTLE ->
      request_lock[r] = true;
      has_row = true;
#ifndef BUG_SETTLE_WITHOUT_LOCKS
      held = BARRED(r);
      scope_locks = scope_locks | held;
#endif
      read_next_below_barriers()
    }
  :: ended[r] -> goto done
  fi;
  if
  :: d_step { fence[r]++; ended[r] = true; lower_barriers(); end_transaction() }
  :: atomic { end_transaction(); goto again }    /* crashed */
  fi;

done:
  skip
}

init {
  atomic {
    run live(false); run live(true);
#ifdef TWO_REQUESTS
    run executor(0, false); run executor(1, false);
    run release(0); run release(1)
#else
    run executor(0, false); run executor(0, true);
    run release(0)
#endif
  }
  /* Nobody can go on. */
  timeout;
  d_step {
    assert(!scope_locks && !position_lock[0] && !position_lock[1]);
    assert(!request_lock[0] && !request_lock[REQUESTS - 1]);
    assert(ended[0] && ended[REQUESTS - 1] && !barrier[A] && !barrier[B]);
    assert(!unread && !wake);
    /* Each is exactly one of applied, OPEN and deferred. */
    assert(!(applied & open) && !(applied & deferred) && !(open & deferred));
    assert((applied | open | deferred) == EACH);
    for (sc : A .. B) { to[sc] = progress[sc] }
    for (tx : 1 .. LAST) {
      if
      :: HAS(deferred, tx) && IS_NEXT(tx, A) && IS_NEXT(tx, B) -> forgotten = forgotten | ONE(tx)
      :: else
      fi
    }
    assert(!forgotten);
    /* With nothing OPEN, nothing waits. */
    assert(open || !deferred)
  }
}
