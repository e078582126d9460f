"""A state machine in which everything meets that can meet in one database, beside a model of it.

One thread plays all the sessions, so a step is what one of them does before another one does
something. A step that would wait for a lock gives up at once, as the driver would at its budget;
the model says where that may happen. Each run has a host of its own and ends healed and drained.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID

import psycopg
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from psycopg.conninfo import make_conninfo
from psycopg.errors import LockNotAvailable
from psycopg.pq import TransactionStatus

from pyreplay import execution
from pyreplay.client import Replay
from pyreplay.errors import (
    ActionExpired,
    AggregateProjectionBlocked,
    ApproverMustDiffer,
    ImpactChanged,
    LeaseLost,
    PlanExpired,
    ReplayExecutionInProgress,
    ReplayExecutionPaused,
    ScopeBusy,
    StalePlan,
)
from pyreplay.executor import Mode, run_batch
from pyreplay.live import process_batch
from pyreplay.records import BatchOutcome, BatchTransaction, PendingAction, RequestStatus
from tests.invariants import find_violations
from tests.support import freeze, wait_until
from tests.world import AT_REST_EMPTY, World, divide, fail

LANES = 3
LEASE = timedelta(seconds=1800)
T = TypeVar("T")

# Two of them in each lane.
AGGREGATES, GRAPHS = "ACDE", "IL"
NAMES = st.lists(st.sampled_from(AGGREGATES + GRAPHS), max_size=3, unique=True)
ONE_OF_TWO = st.integers(0, 1)
ANY = st.integers(0, 99)
STEPS, LIMIT = st.integers(1, 4), st.integers(1, 6)
LANE = st.sampled_from([None, None, None, *range(LANES)])
RARELY = st.sampled_from([False, False, False, True])
ASKING = st.sampled_from(["alice", "alice", "alice", "alice", "bob"])
WORK = st.tuples(NAMES, RARELY, RARELY)
STEP: dict[str, Any] = {"steps": STEPS, "who": ONE_OF_TWO, "limit": LIMIT, "linger": RARELY}
LIVE_STEP = STEP | {"steps": st.integers(1, 2), "lane": LANE, "woken_only": RARELY}
MIDWAY = st.integers(2, 10)
ITEM_BY_ITEM: dict[str, Any] = {"crowded": False, "limit": 1, "linger": False}
REPLAY_STEP = STEP | {"steps": st.integers(1, 6), "pick": ANY, "crowded": RARELY}


@dataclass(frozen=True, slots=True)
class Work:
    """An appended transaction: the first and last version it carries of each ordered scope."""

    labels: tuple[str, ...]
    ranges: dict[str, tuple[int, int]]

    @property
    def transaction_id(self) -> str:
        return self.labels[0]

    @property
    def scopes(self) -> set[str]:
        return set(self.ranges) or {self.transaction_id}


@dataclass(slots=True)
class Request:
    """A plan and its execution.

    `dry`: it commits nothing. `liveness`: the session that holds its liveness lock. `asked`: the
    release that somebody asked for.
    """

    status: RequestStatus
    items: list[str]
    dry: bool = False
    state: str = "AWAITING_APPROVAL"
    pending: list[str] = field(default_factory=list)
    failed: bool = False
    fence: int = 0
    lease_until: datetime | None = None
    pooled: bool = False
    liveness: int | None = None
    asked: PendingAction | None = None

    @property
    def key(self) -> tuple[UUID, UUID]:
        return self.status.host_id, self.status.request_id


class Model:
    """What must have come of everything committed so far."""

    def __init__(self) -> None:
        self.works: dict[str, Work] = {}
        self.heads: dict[str, int] = {}
        self.progress: dict[str, int] = {}
        self.applied: list[str] = []
        self.open: set[str] = set()
        self.barriers: dict[str, Request] = {}

    def is_next(self, work: Work, progress: dict[str, int]) -> bool:
        return all(progress.get(s, 0) + 1 == first for s, (first, _) in work.ranges.items())

    def append(self, work: Work) -> None:
        self.works[work.transaction_id] = work
        self.heads |= {scope: last for scope, (_, last) in work.ranges.items()}

    def apply(self, transaction_id: str) -> None:
        work = self.works[transaction_id]
        assert transaction_id not in self.applied, f"I10, I11: {transaction_id} is applied twice"
        assert self.is_next(work, self.progress), f"I5: {transaction_id} is not next"
        self.progress |= {scope: last for scope, (_, last) in work.ranges.items()}
        self.applied.append(transaction_id)

    def capture(self, transaction_id: str) -> None:
        work = self.works[transaction_id]
        assert self.is_next(work, self.progress), f"I5: {transaction_id} failed and is not next"
        assert not self.is_blocked(work), f"I3: a second failure in a scope of {transaction_id}"
        self.open.add(transaction_id)

    def is_blocked(self, work: Work) -> bool:
        return any(work.scopes & self.works[failed].scopes for failed in self.open)

    def barred(self, work: Work) -> set[str]:
        return work.scopes & self.barriers.keys()

    def barriers_of(self, request: Request) -> set[str]:
        return {scope for scope, owner in self.barriers.items() if owner is request}

    def lower(self, request: Request) -> None:
        self.barriers = {s: r for s, r in self.barriers.items() if r is not request}


class Session:
    """One session of the database, and what it is in the middle of."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.connect()

    def connect(self) -> None:
        # Nobody else moves while a step waits, so that waiting longer would not help.
        self.conn: psycopg.Connection[Any] = psycopg.connect(
            self.dsn, autocommit=True, options="-c lock_timeout=20ms"
        )
        self.replay = Replay(self.conn)
        self.pid = self.conn.info.backend_pid
        self.stage = "idle"
        self.request: Request | None = None
        self.forget()

    def forget(self) -> None:
        self.scopes: set[str] = set()
        self.heads: set[str] = set()
        self.effects: list[Callable[[], None]] = []
        self.row: Request | None = None
        self.wakes = False
        self.back = "idle"

    @property
    def is_open(self) -> bool:
        return self.conn.info.transaction_status != TransactionStatus.IDLE

    def commit(self) -> None:
        self.conn.execute("commit")
        effects = self.effects
        self.forget()
        for effect in effects:
            effect()

    def roll_back(self) -> None:
        if self.is_open:
            self.conn.execute("rollback")
            self.stage = self.back
        self.forget()


class LiveSession(Session):
    batch: Sequence[BatchTransaction] = ()
    outcome = BatchOutcome()


class ExecutorSession(LiveSession):
    fence = 0
    chunk: Sequence[str] = ()
    stale = False


class Machine(RuleBasedStateMachine):
    """The steps that sessions take. `taken` counts those of all runs in `world`.

    Two runs that draw the same need not see the same, for lanes and locks hang on the host. So what
    is drawn never depends on what was seen: no rule has a precondition; some find nothing to do.
    """

    hosts: Iterator[UUID] = (UUID(int=(1 << 127) + number) for number in range(1 << 60))
    taken = 0

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        self.host = next(self.hosts)
        self.now = datetime(2030, 1, 1, tzinfo=UTC)
        self.model = Model()
        self.requests: list[Request] = []
        self.paused, self.stopped = False, False
        self.admin, self.slow = Session(world.dsn), Session(world.dsn)
        self.live = [LiveSession(world.dsn) for _ in range(2)]
        self.executors = [ExecutorSession(world.dsn) for _ in range(2)]
        world.as_person("bob")
        self.bob = Session(make_conninfo(world.dsn, user="bob"))
        self.admin.replay.set_lanes(self.host, LANES)

    @property
    def sessions(self) -> list[Session]:
        return [self.slow, *self.live, *self.executors, self.bob]

    def others(self, session: Session) -> list[Session]:
        return [other for other in self.sessions if other is not session]

    def ask(
        self,
        session: Session,
        call: Callable[[Replay], T],
        *allowed: type[psycopg.Error],
    ) -> T | psycopg.Error:
        """Call the engine; an error that the model allows is an answer, and rolled back."""
        freeze(session.conn, self.now.isoformat())
        try:
            return call(session.replay)
        except psycopg.Error as error:
            number = "I14: " if isinstance(error, ReplayExecutionPaused) else ""
            assert isinstance(error, allowed), f"{number}{type(error).__name__}: {error}"
            session.roll_back()
            return error

    def finish(self, session: Session, linger: bool, back: str) -> None:
        """Commit what a session did, or leave that to a later step of it."""
        if linger:
            session.stage, session.back = "lingering", back
        else:
            session.commit()

    # Appends

    def draw_work(self, names: Sequence[str], twice: bool) -> Work:
        if not names:
            return Work((f"u{len(self.model.works)}",), {})
        labels: list[str] = []
        ranges = {}
        for name in names:
            first = self.model.heads.get(name, 0) + 1
            last = first + (twice and name == names[0])
            ranges[name] = first, last
            mark = "#" if name in GRAPHS else "@"
            labels += [f"{name}{mark}{version}" for version in range(first, last + 1)]
        return Work(tuple(labels), ranges)

    def append(self, session: Session, work: Work, fails: bool, linger: bool) -> None:
        blocked = self.model.is_blocked(work)
        contended = self.slow is not session and work.scopes & self.slow.heads
        session.conn.execute("begin")
        answer = self.ask(
            session,
            lambda replay: self.world.append(
                work.transaction_id, *work.labels, host_id=self.host, replay=replay
            ),
            *[AggregateProjectionBlocked] * blocked,
            *[LockNotAvailable] * bool(contended),
        )
        if isinstance(answer, psycopg.Error):
            return
        assert not blocked and not contended, f"{work.transaction_id} was not refused"
        if fails:
            self.world.trouble[work.labels[-1]] = divide if len(work.labels) == 1 else fail
        session.heads = work.scopes
        session.effects.append(lambda: self.model.append(work))
        self.finish(session, linger, back="idle")

    @initialize(wanted=st.lists(WORK, min_size=8, max_size=16))
    def begin(self, wanted: list[tuple[list[str], bool, bool]]) -> None:
        self.append_some(wanted)
        # So that there are positions, each for one of the processors.
        for _ in range(3):
            self.step_live(self.live[0], None, 1, False, False)

    @rule(wanted=st.lists(WORK, min_size=1, max_size=4))
    def append_more(self, wanted: list[tuple[list[str], bool, bool]]) -> None:
        self.append_some(wanted)

    def append_some(self, wanted: list[tuple[list[str], bool, bool]]) -> None:
        for names, twice, fails in wanted:
            self.append(self.admin, self.draw_work(names, twice), fails, linger=False)

    def fail_some(self, pick: int) -> None:
        """Give executors something to replay: left alone, next to nothing fails."""
        names = AGGREGATES + GRAPHS
        for number in range(3):
            work = self.draw_work([names[(pick + number) % len(names)]], twice=False)
            self.append(self.admin, work, fails=True, linger=False)
        for session in self.live:
            for _ in range(4):
                self.step_live(session, None, 99, False, False)

    @rule(names=NAMES.filter(bool), fails=RARELY)
    def append_slowly(self, names: list[str], fails: bool) -> None:
        if self.slow.is_open:
            self.slow.commit()
        else:
            self.append(self.slow, self.draw_work(names, False), fails, linger=True)

    # Live batches

    def process(self, steps: int, who: int, **options: Any) -> None:
        for _ in range(steps):
            self.step_live(self.live[who], **options)

    # Twice, and so more often than the rest.
    process_one = rule(**LIVE_STEP)(process)
    process_other = rule(**LIVE_STEP)(process)

    def step_live(
        self, session: LiveSession, lane: int | None, limit: int, woken_only: bool, linger: bool
    ) -> None:
        """The next step of a live processor."""
        if session.stage == "idle":
            self.claim_batch(session, lane, limit, woken_only)
        elif session.stage == "claimed":
            self.run_handlers(session, Mode.LIVE)
        elif session.stage == "ran":
            self.complete_batch(session, linger)
        else:
            session.commit()

    def claim_batch(
        self, session: LiveSession, lane: int | None, limit: int, woken_only: bool
    ) -> None:
        session.conn.execute("begin")
        batch = self.ask(
            session,
            lambda replay: replay.claim_batch(
                self.world.projection.name,
                host_id=self.host,
                lane=lane,
                limit=limit,
                woken_only=woken_only,
            ),
            LockNotAvailable,
        )
        if isinstance(batch, psycopg.Error):
            assert self.is_contended(session, lane), "I12: a batch waits for others' work"
            return
        if not batch:
            session.commit()
            return
        assert not self.paused, "a paused projection gave out work"
        self.check_decisions(batch)
        session.batch, session.stage = batch, "claimed"
        session.scopes = set[str]().union(*map(self.scopes_of, batch))

    def scopes_of(self, transaction: BatchTransaction) -> set[str]:
        return self.model.works[transaction.transaction_id].scopes

    def check_decisions(self, batch: Sequence[BatchTransaction]) -> None:
        progress = dict(self.model.progress)
        for transaction in batch:
            work = self.model.works[transaction.transaction_id]
            expected = "DEFER"
            if self.model.is_next(work, progress) and not self.model.barred(work):
                expected = "APPLY"
                progress |= {scope: last for scope, (_, last) in work.ranges.items()}
            found = transaction.decision
            assert found == expected, f"I5, I11, I12: {work.transaction_id}: {found}"

    def is_contended(self, session: Session, lane: int | None) -> bool:
        """Whether a lane that is free holds work in scopes that another session has locked."""
        query = """
            with free as (
              select p.* from replay.position p
              where p.host_id = %(host)s and p.lane = coalesce(%(lane)s, p.lane)
              for no key update skip locked)
            select o.transaction_id
            from free f
            join replay.outbox o on (o.host_id, o.lane) = (f.host_id, f.lane)
              and o.source_offset > f.last_offset
            union
            select d.transaction_id
            from free f join replay.deferred d on (d.host_id, d.lane) = (f.host_id, f.lane)"""
        rows = self.admin.conn.execute(query, {"host": self.host, "lane": lane}).fetchall()
        held = set[str]().union(*(other.scopes for other in self.others(session)))
        return any(self.model.works[transaction_id].scopes & held for (transaction_id,) in rows)

    def run_handlers(self, session: LiveSession, mode: Mode) -> None:
        session.outcome = run_batch(
            session.conn,
            self.world.projection,
            session.batch,
            mode,
            deadline=time.monotonic() + 600,
        )
        session.stage = "ran"

    def complete_batch(self, session: LiveSession, linger: bool) -> None:
        outcome, batch = session.outcome, session.batch
        wakes = any(other.wakes for other in self.others(session))
        answer = self.ask(
            session,
            lambda replay: replay.complete_batch(
                batch[0].xact_id,
                failures=outcome.failures,
                skipped=outcome.skipped,
                upto=outcome.upto,
            ),
            # Two batches may wake the same transaction, each for its own scope.
            *[LockNotAvailable] * wakes,
        )
        if isinstance(answer, psycopg.Error):
            return
        session.wakes = True
        session.effects.append(lambda: self.conclude_batch(session, batch, outcome))
        self.finish(session, linger, back="idle")

    def conclude_batch(
        self, session: LiveSession, batch: Sequence[BatchTransaction], outcome: BatchOutcome
    ) -> None:
        session.stage = "idle"
        failed = {report["ord"] for report in outcome.failures}
        for t in batch:
            if t.decision != "APPLY" or t.ord in outcome.skipped or t.ord > (outcome.upto or t.ord):
                continue
            barred = self.model.barred(self.model.works[t.transaction_id])
            assert not barred, f"I11: {t.transaction_id} commits under a barrier"
            if t.ord in failed:
                self.model.capture(t.transaction_id)
            else:
                self.model.apply(t.transaction_id)

    @rule(pick=ANY, fails=RARELY)
    def crowd(self, pick: int, fails: bool) -> None:
        self.come_to_barrier(pick, fails)

    def come_to_barrier(self, pick: int, fails: bool) -> None:
        """Append in a scope under a barrier, and let live work come to it."""
        scopes = sorted(self.model.barriers.keys() & set(AGGREGATES + GRAPHS))
        if scopes:
            work = self.draw_work([scopes[pick % len(scopes)]], False)
            self.append(self.admin, work, fails, linger=False)
        for session in self.live:
            if session.stage == "idle":
                self.claim_batch(session, None, 6, False)

    # Plans

    @rule(
        many=st.integers(1, 3),
        pick=ANY,
        closure=RARELY,
        agreed=st.sampled_from([0, 1, 2, 2]),
        dry=RARELY,
    )
    def plan(self, many: int, pick: int, closure: bool, agreed: int, dry: bool) -> None:
        if self.model.open:
            self.plan_some(many, pick, closure, agreed, dry)

    def plan_some(
        self, many: int, pick: int, closure: bool, agreed: int, dry: bool = False
    ) -> None:
        failed = {f.transaction_id: f for f in self.failures()}
        assert failed.keys() == self.model.open
        names = sorted(failed)
        chosen = [names[(pick + number) % len(names)] for number in range(min(many, len(names)))]
        alice = self.as_person("alice")
        status = alice.create_request(
            self.host,
            self.world.projection.name,
            strategy="DEPENDENCY_CLOSURE" if closure else "EXACT",
            mode="ROLLBACK_DRY_RUN" if dry else "EXECUTE",
            failure_ids=[failed[name].failure_id for name in chosen],
            reason="handler fixed",
        )
        items = [i.transaction_id for i in alice.list_items(self.host, status.request_id)]
        assert set(items) == set(chosen)
        request = Request(status, items, dry, pending=list(items))
        self.requests.append(request)
        for _ in range(agreed):
            self.agree_on(request)

    def failures(self) -> list[Any]:
        return self.world.replay.list_failures(host_id=self.host, limit=1000)

    def as_person(self, name: str) -> Replay:
        person = self.world.as_person(name)
        freeze(person.conn, self.now.isoformat())
        return person

    @rule(pick=ANY, cancels=RARELY)
    def agree(self, pick: int, cancels: bool) -> None:
        idle = [r for r in self.requests if r.state in ("AWAITING_APPROVAL", "APPROVED")]
        if idle and cancels:
            self.cancel(idle[pick % len(idle)])
        elif idle:
            self.agree_on(idle[pick % len(idle)])

    def agree_on(self, request: Request) -> None:
        """The second person's approval, or the intent."""
        key = *request.key, request.status.plan_hash
        refusals: dict[type[psycopg.Error], bool] = {
            PlanExpired: request.status.expires_at <= self.now,
            ReplayExecutionPaused: self.stopped and request.state == "APPROVED",
            StalePlan: not set(request.items) <= self.model.open,
        }
        try:
            if request.state == "AWAITING_APPROVAL":
                self.as_person("bob").approve_request(*key, reason="looks right")
            elif request.state == "APPROVED":
                self.as_person("alice").execute_request(*key, reason="go")
            else:
                return
        except tuple(refusals) as error:
            assert refusals[type(error)], str(error)
            return
        for refusal, is_due in refusals.items():
            assert not is_due, f"I7, I14: a plan went on, without {refusal.__name__}"
        request.state = {"AWAITING_APPROVAL": "APPROVED", "APPROVED": "INTENDED"}[request.state]

    def cancel(self, request: Request) -> None:
        answer = self.as_person("bob").cancel_request(*request.key, reason="not now")
        expired = request.status.expires_at <= self.now
        assert answer.status == ("EXPIRED" if expired else "CANCELLED")
        request.state = "ENDED"

    # Execution

    def replay(self, steps: int, who: int, crowded: bool, **options: Any) -> None:
        session = self.executors[who]
        for _ in range(steps):
            self.step_executor(session, **options)
            if crowded and session.stage == "done":
                self.come_to_barrier(0, fails=False)

    replay_one = rule(**REPLAY_STEP)(replay)
    replay_other = rule(**REPLAY_STEP)(replay)

    def step_executor(self, session: ExecutorSession, pick: int, limit: int, linger: bool) -> None:
        """The next step of an executor."""
        if session.stage == "idle":
            self.claim_request(session, pick)
        elif session.stage == "ready":
            self.begin_items(session, limit, linger)
        elif session.stage == "begun":
            self.load_items(session)
        elif session.stage == "ran":
            self.complete_items(session, linger)
        elif session.stage == "lingering":
            session.commit()
        else:
            self.settle_items(session, linger)

    @rule(who=ONE_OF_TWO, linger=RARELY)
    def give_up(self, who: int, linger: bool) -> None:
        session = self.executors[who]
        if session.stage in ("claimed", "ready", "begun", "done"):
            self.settle_items(session, linger, yields=True)

    def claim_request(self, session: ExecutorSession, pick: int) -> None:
        intended = [r for r in self.requests if r.state == "INTENDED"]
        if not intended:
            if not self.model.open:
                self.fail_some(pick)
            if self.model.open:
                self.plan_some(1 + pick % 3, pick, False, 2, dry=pick % 4 == 3)
            return
        self.claim(session, intended[pick % len(intended)])

    def claim(self, session: ExecutorSession, request: Request) -> None:
        held = self.is_held(request, session)
        answer = self.ask(
            session,
            lambda replay: replay.claim_request(
                *request.key, request.status.plan_hash, budget=LEASE
            ),
            *[ReplayExecutionInProgress] * held,
            *[ReplayExecutionPaused] * self.stopped,
        )
        if isinstance(answer, psycopg.Error):
            return
        assert not held, "I10: two sessions hold one request"
        assert not self.stopped, "I14: a claim while execution is paused"
        alive = request.liveness in [s.pid for s in self.others(session)]
        request.pooled = alive
        request.liveness = request.liveness if alive else session.pid
        request.fence += 1
        assert answer.fence == request.fence, "I9: a claim raises the fence"
        request.lease_until = self.now + LEASE
        session.request, session.fence, session.stage = request, request.fence, "claimed"
        session.stale = False

    @rule(who=ONE_OF_TWO)
    def stall(self, who: int) -> None:
        """Let a holder sleep past its lease, the other executor take over, and it go on."""
        session, other = self.executors[who], self.executors[1 - who]
        if session.request and session.request.state == "INTENDED" and other.stage == "idle":
            self.now += LEASE
            self.claim(other, session.request)
            if not session.is_open:
                self.step_executor(session, 0, 1, False)

    def is_held(self, request: Request, session: Session) -> bool:
        others = self.others(session)
        leased = request.lease_until is not None and request.lease_until > self.now
        seen = request.pooled or request.liveness in [other.pid for other in others]
        return (leased and seen) or any(other.row is request for other in others)

    def write(
        self,
        session: ExecutorSession,
        call: Callable[[Replay, tuple[UUID, UUID, int]], T],
        *allowed: type[psycopg.Error],
    ) -> T | None:
        """A holder's write: refused to a stale one (then it stops), and to nobody else."""
        request = session.request
        assert request
        holds = (
            (request.fence, request.state) == (session.fence, "INTENDED")
            and request.lease_until is not None
            and request.lease_until > self.now
        )
        taken = any(other.row is request for other in self.others(session))
        refusals = [] if holds else [LeaseLost]
        answer = self.ask(
            session,
            lambda replay: call(replay, (*request.key, session.fence)),
            *allowed,
            *refusals,
            *[LockNotAvailable] * taken,
        )
        if isinstance(answer, LeaseLost):
            session.roll_back()
            session.request, session.stage = None, "idle"
        if isinstance(answer, psycopg.Error):
            return None
        assert holds, "I9: a stale holder wrote"
        session.row = request
        return answer

    def begin_items(self, session: ExecutorSession, limit: int, linger: bool) -> None:
        request = session.request
        assert request
        chunk = request.pending[:limit]
        scopes = set[str]().union(*(self.model.works[item].scopes for item in chunk))
        busy = any(scopes & other.scopes for other in self.others(session)) or any(
            scope in self.model.barriers for scope in scopes
        )
        session.conn.execute("begin")
        session.back = "ready"
        count = self.write(
            session,
            lambda replay, key: replay.begin_items(*key, limit=limit),
            *[ScopeBusy] * busy,
            *[ReplayExecutionPaused] * self.stopped,
        )
        if count is None:
            return
        assert not self.stopped, "I14: a chunk begins while execution is paused"
        assert not busy, "I11: a barrier rises in a scope that is taken"
        assert count == len(chunk)

        def effect() -> None:
            self.model.barriers |= dict.fromkeys(scopes, request)
            session.chunk, session.stage = chunk, "begun"

        session.scopes = scopes
        session.effects.append(effect)
        self.finish(session, linger, back="ready")

    def load_items(self, session: ExecutorSession) -> None:
        stale = not set(session.chunk) <= self.model.open
        session.conn.execute("begin")
        session.back = "begun"
        # Never LockNotAvailable: nothing live and no other chunk holds what a run locks.
        batch = self.write(
            session,
            lambda replay, key: replay.load_items(*key),
            *[StalePlan] * stale,
            *[ReplayExecutionPaused] * self.stopped,
        )
        if batch is None:
            # A pause comes first, and leaves the chunk to be loaded later, or to be given up.
            if session.request and not self.stopped:
                session.stage, session.stale = "done", True
            return
        assert not self.stopped, "I14: a chunk is loaded while execution is paused"
        assert not stale, "I10: a failure that is resolved was loaded"
        assert [t.transaction_id for t in batch] == list(session.chunk), "I7: other items"
        session.batch = batch
        self.run_handlers(session, Mode.REPLAY)

    def complete_items(self, session: ExecutorSession, linger: bool) -> None:
        request, batch, outcome = session.request, session.batch, session.outcome
        assert request

        def complete(replay: Replay, key: tuple[UUID, UUID, int]) -> tuple[None]:
            reports: dict[str, Any] = {"failures": outcome.failures, "upto": outcome.upto}
            if request.dry:
                return (replay.roll_back_items(*key, **reports),)
            return (replay.complete_items(*key, batch[0].xact_id, **reports),)

        if request.dry:
            session.roll_back()
            session.conn.execute("begin")
        session.back = "begun"
        if not self.write(session, complete):
            return

        def effect() -> None:
            session.stage = "done"
            failed = {report["ord"] for report in outcome.failures}
            for t in batch:
                work = self.model.works[t.transaction_id]
                assert self.model.barred(work) == work.scopes, "I11: a run without its barriers"
                if t.ord in failed:
                    request.failed = True
                elif t.ord <= (outcome.upto or t.ord):
                    request.pending.remove(t.transaction_id)
                    if not request.dry:
                        self.model.apply(t.transaction_id)
                        self.model.open.remove(t.transaction_id)

        session.effects.append(effect)
        self.finish(session, linger, back="begun")

    def settle_items(self, session: ExecutorSession, linger: bool, *, yields: bool = False) -> None:
        request = session.request
        assert request
        scopes = self.model.barriers_of(request)
        busy = self.is_settle_busy(session, scopes)
        code = "STALE_PLAN" if session.stale and not yields else None
        session.conn.execute("begin")
        session.back = session.stage
        status = self.write(
            session,
            lambda replay, key: (
                replay.yield_request(*key)
                if yields
                else replay.settle_items(*key, failure_code=code)
            ),
            *[LockNotAvailable] * busy,
        )
        if status is None:
            return
        ended = not yields and (code or request.failed or not request.pending)
        assert (status.status in execution.ENDED) == bool(ended)
        # Given back at once, whatever becomes of the transaction.
        if (ended or yields) and not request.pooled:
            request.liveness = None

        def effect() -> None:
            self.model.lower(request)
            session.stage = "ready"
            if ended or yields:
                request.lease_until, session.request, session.stage = None, None, "idle"
            if ended:
                request.state = "ENDED"

        session.scopes, session.wakes = scopes, True
        session.effects.append(effect)
        self.finish(session, linger, back=session.back)

    def is_settle_busy(self, session: Session, scopes: set[str]) -> bool:
        """Whether another session is in the way of who lowers barriers in these scopes."""
        return any(scopes & s.scopes or (scopes and s.wakes) for s in self.others(session))

    # Releases

    @rule(pick=ANY, name=ASKING, linger=RARELY)
    def release(self, pick: int, name: str, linger: bool) -> None:
        """Ask to end an execution; or let bob do it, where that was asked for."""
        intended = [r for r in self.requests if r.state == "INTENDED"]
        if self.bob.is_open:
            self.bob.commit()
        elif intended:
            request = intended[pick % len(intended)]
            if request.asked:
                self.decide_release(request, request.asked, linger)
            else:
                self.ask_release(request, name)

    @rule(who=ONE_OF_TWO, steps=MIDWAY, pick=ANY, dies=st.booleans(), linger=RARELY)
    def abandon(self, who: int, steps: int, pick: int, dies: bool, linger: bool) -> None:
        """Let a holder die, or sleep past its lease and wake up after a release by two people."""
        session = self.executors[who]
        self.replay(steps, who, pick=pick, **ITEM_BY_ITEM)
        request = session.request
        if not request or request.state != "INTENDED" or self.bob.is_open:
            return
        if dies:
            self.end(session)
            session.connect()
        self.now += LEASE
        self.ask_release(request, "alice")
        if request.asked:
            self.decide_release(request, request.asked, linger)
        if not dies:
            self.step_executor(session, 0, 1, False)

    def ask_release(self, request: Request, name: str) -> None:
        held = self.is_held(request, self.admin)
        try:
            asked = self.as_person(name).release_request(*request.key, "nobody retries")
        except ReplayExecutionInProgress:
            assert held, "a dead holder is in the way of a release"
            return
        assert not held, "I9: a release is asked for while a holder lives"
        assert asked.impact == self.impact_of(request)
        request.asked = asked

    def decide_release(self, request: Request, asked: PendingAction, linger: bool) -> None:
        session = self.bob
        scopes = self.model.barriers_of(request)
        refusals: dict[type[psycopg.Error], bool] = {
            ReplayExecutionInProgress: self.is_held(request, session),
            ActionExpired: asked.expires_at <= self.now,
            ApproverMustDiffer: asked.requested_by == "bob",
            ImpactChanged: asked.impact != self.impact_of(request),
        }
        session.conn.execute("begin")
        answer = self.ask(
            session,
            lambda replay: replay.release_request(
                *request.key, "agreed", asked.action_id, asked.impact
            ),
            *[refusal for refusal, is_due in refusals.items() if is_due],
            *[LockNotAvailable] * self.is_settle_busy(session, scopes),
        )
        if isinstance(answer, psycopg.Error):
            if not isinstance(answer, ReplayExecutionInProgress | LockNotAvailable):
                request.asked = None
            return
        for refusal, is_due in refusals.items():
            assert not is_due, f"I8, I9: released, without {refusal.__name__}"

        def effect() -> None:
            self.model.lower(request)
            request.state, request.lease_until = "ENDED", None
            request.fence += 1
            session.stage = "idle"
            self.check_released(request)

        session.row, session.scopes, session.wakes = request, scopes, True
        session.effects.append(effect)
        self.finish(session, linger, back="idle")

    def impact_of(self, request: Request) -> dict[str, int]:
        left = len(request.pending) - request.failed
        return {
            "fence": request.fence,
            "done_count": len(request.items) - left,
            "left_open_count": left,
            "barrier_count": len(self.model.barriers_of(request)),
        }

    def check_released(self, request: Request) -> None:
        found = self.world.replay.get_request(*request.key)
        assert (found.status, found.failure_code) == ("FAILED", "RELEASED")
        assert found.fence == request.fence, "I9: a release raises the fence"
        progress = self.world.progress(self.host)
        moved = {key.removeprefix("Thing:"): version for key, version in progress.items()}
        assert moved == self.model.progress, "I19: a release moves progress"
        failed = {failure.transaction_id for failure in self.failures()}
        assert failed == self.model.open, "I19: a release resolves a failure"

    # Accidents, and what people do

    @rule(which=st.integers(0, 5), is_killed=st.booleans())
    def stop(self, which: int, is_killed: bool) -> None:
        """Roll a session back, or end it and put another in its place, whatever it does."""
        session = self.sessions[which]
        if is_killed:
            self.end(session)
            session.connect()
            return
        if session.stage == "ran":
            session.back = "begun" if session in self.executors else "idle"
        session.roll_back()

    def end(self, *sessions: Session) -> None:
        """Close sessions and wait until the database has let go of all they held."""
        for session in sessions:
            session.conn.close()
        gone = "not exists (select from pg_stat_activity where pid = any (%s))"
        wait_until(self.admin.conn, gone, [[session.pid for session in sessions]])

    @rule(pick=ANY, mends=st.booleans())
    def change_handlers(self, pick: int, mends: bool) -> None:
        labels = sorted(self.world.trouble)
        if not mends:
            works = list(self.model.works.values())
            self.world.trouble[works[-1 - pick % min(len(works), 8)].labels[-1]] = fail
        elif labels:
            del self.world.trouble[labels[pick % len(labels)]]

    @rule(seconds=st.sampled_from([1, 600, 1800, 1800, 90000]), paused=RARELY)
    def pass_time(self, seconds: int, paused: bool) -> None:
        self.now += timedelta(seconds=seconds)
        self.move_projection(paused=paused)
        self.switch_execution(stops=False)

    def move_projection(self, *, paused: bool) -> None:
        replay, name = self.admin.replay, self.world.projection.name
        if paused and not self.paused:
            replay.pause_projection(name, reason="a look at it")
        elif self.paused and not paused:
            replay.resume_projection(name, reason="looked at it")
        self.paused = paused

    @rule(who=ONE_OF_TWO, steps=MIDWAY, pick=ANY, lasts=RARELY)
    def pause_midway(self, who: int, steps: int, pick: int, lasts: bool) -> None:
        """Pause all executions while one of them is at work."""
        self.replay(steps, who, pick=pick, **ITEM_BY_ITEM)
        self.switch_execution(stops=True)
        self.replay(2, who, pick=pick, **ITEM_BY_ITEM)
        self.switch_execution(stops=lasts)

    def switch_execution(self, *, stops: bool) -> None:
        """Pause all executions, or allow them again."""
        query = """
            select r.request_id, r.status, r.fence, r.lease_until, (
              select count(*) from replay.barrier b where b.request_id = r.request_id)
            from replay.request r where r.host_id = %s order by r.request_id"""
        before = self.admin.conn.execute(query, (self.host,)).fetchall()
        if stops:
            self.admin.replay.pause_execution("a look at it")
        else:
            self.admin.replay.resume_execution("looked at it")
        self.stopped = stops
        after = self.admin.conn.execute(query, (self.host,)).fetchall()
        assert after == before, "I14: an execution starts or ends by itself"

    # What must hold

    @invariant()
    def read_model_is_as_modelled(self) -> None:
        Machine.taken += 1
        seen = self.world.seen(self.host)
        versions = {name: [] for name in self.model.progress}  # type: dict[str, list[int]]
        for label in seen:
            name, _, version = label.replace("#", "@").partition("@")
            if version:
                versions[name].append(int(version))
        assert versions == {
            name: list(range(1, last + 1)) for name, last in self.model.progress.items()
        }, "I5: a scope is out of order"
        labels = [label for t in self.model.applied for label in self.model.works[t].labels]
        assert sorted(seen) == sorted(labels), "I4, I10: not what was applied"

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.heal()
        finally:
            self.end(*self.sessions)
            self.move_projection(paused=False)
            self.admin.replay.resume_execution("the end")
            self.admin.conn.close()
            self.world.trouble.clear()

    def heal(self) -> None:
        """Whatever was left in the middle: retry it, heal the rest, drain, and compare."""
        if self.slow.is_open:
            self.slow.commit()
        self.end(*self.sessions)
        for session in self.sessions:
            session.connect()
        self.world.trouble.clear()
        self.move_projection(paused=False)
        self.switch_execution(stops=False)
        self.now += LEASE
        # First the barriers, of which one request may be in the way of another.
        for process in (self.settle, self.execute):
            for request in self.requests:
                if request.state == "INTENDED":
                    process(request)
        self.drain()
        while self.model.open:
            self.plan_all()
            self.drain()
        self.compare()

    def settle(self, request: Request) -> None:
        """Take up what a dead holder left, and no more."""
        status = self.process_request(request, items=0)
        ended = request.failed or not request.pending
        assert (status.status in execution.ENDED) == ended
        request.state = "ENDED" if ended else "INTENDED"

    def process_request(self, request: Request, items: int | None) -> RequestStatus:
        freeze(self.admin.conn, self.now.isoformat())
        key = *request.key, request.status.plan_hash
        return execution.execute(self.admin.conn, self.world.projection, *key, items=items)

    def execute(self, request: Request) -> None:
        status = self.process_request(request, items=None)
        stale = not set(request.pending) <= {*self.model.open}
        expected = "FAILED" if request.failed or stale else "SUCCEEDED"
        assert status.status == expected, f"{status.status}, not {expected}"
        self.model.open = {failure.transaction_id for failure in self.failures()}

    def plan_all(self) -> None:
        alice = self.as_person("alice")
        ids = [failure.failure_id for failure in self.failures()]
        name = self.world.projection.name
        status = alice.create_request(self.host, name, failure_ids=ids, reason="the end")
        request = Request(status, sorted(self.model.open), pending=sorted(self.model.open))
        self.agree_on(request)
        self.agree_on(request)
        self.execute(request)

    def drain(self) -> None:
        freeze(self.admin.conn, self.now.isoformat())
        while process_batch(self.admin.conn, self.world.projection, host_id=self.host):
            pass

    def compare(self) -> None:
        seen = self.world.seen(self.host)
        labels = [label for work in self.model.works.values() for label in work.labels]
        assert sorted(seen) == sorted(labels), "I5, I10, I11: not everything once"
        for name, head in self.model.heads.items():
            mark = "#" if name in GRAPHS else "@"
            found = [label for label in seen if label.startswith(f"{name}{mark}")]
            assert found == [f"{name}{mark}{version}" for version in range(1, head + 1)], "I5"
        for table in (t for t in AT_REST_EMPTY if t not in ("batch_item", "outbox_pending")):
            query = f"select from replay.{table} where host_id = %s"
            assert not self.admin.conn.execute(query, (self.host,)).rowcount, table
        found = find_violations(self.admin.conn)
        # What a run that failed has left is none of this one's business.
        mine = {rule: rows for rule, rows in found.items() if any(self.host in row for row in rows)}
        assert mine == {}
