"""The SQL API, method for function. No logic lives here."""

from collections.abc import Sequence
from dataclasses import fields
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.adapt import PyFormat
from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb
from psycopg.types.numeric import Int8BinaryLoader, IntLoader

from .records import (
    Archive,
    BatchOutcome,
    BatchResult,
    BatchTransaction,
    ClaimedTransaction,
    Config,
    FailureDetail,
    FailureSummary,
    FleetStatus,
    Host,
    Item,
    LegalHold,
    PendingAction,
    Projection,
    Registry,
    RegistryEntry,
    Removal,
    RequestPreview,
    RequestStatus,
    TimelineEntry,
    Transaction,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Row = TypeVar("Row", bound="DataclassInstance")

# psycopg has no loader for xid8; it looks like a bigint.
XID8 = 5069

# Columns of composite arrays, which psycopg would give as text.
COMPOSITES = frozenset({"scopes"})

# Arguments that are sent in binary: psycopg would write an array of bytes as text, in hex.
BINARIES = frozenset({"events"})


class Replay:
    """Every public method calls the function of the same name in schema replay."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self.conn = conn
        for loader in (IntLoader, Int8BinaryLoader):
            conn.adapters.register_loader(XID8, loader)

    # Registry and append

    def publish_registry(
        self, entries: Sequence[dict[str, Any]], removed: Sequence[dict[str, Any]] = ()
    ) -> Registry:
        """Add entries to the registry, or replace or remove some; unchanged, it stays as it is."""
        return self._one(
            "publish_registry", Registry, entries=Jsonb(list(entries)), removed=Jsonb(list(removed))
        )

    def get_registry(self) -> list[RegistryEntry]:
        """The entries of the current registry version."""
        return self._all("get_registry", RegistryEntry)

    def append_transaction(
        self, host_id: UUID, transaction_id: str, events: Sequence[bytes], registry_digest: bytes
    ) -> Transaction:
        """Append the events of one transaction, all or none; the same again answers the same."""
        return self._one(
            "append_transaction",
            Transaction,
            host_id=host_id,
            transaction_id=transaction_id,
            events=list(events),
            registry_digest=registry_digest,
        )

    def append_transactions(
        self,
        host_id: UUID,
        transaction_ids: Sequence[str],
        member_counts: Sequence[int],
        events: Sequence[bytes],
        registry_digest: bytes,
    ) -> list[Transaction]:
        """Append up to 500 transactions of one host in one call, all or none."""
        return self._all(
            "append_transactions",
            Transaction,
            host_id=host_id,
            transaction_ids=list(transaction_ids),
            member_counts=list(member_counts),
            events=list(events),
            registry_digest=registry_digest,
        )

    def set_lanes(self, host_id: UUID, lane_count: int) -> Host:
        """Give a host more outbox lanes."""
        return self._one("set_lanes", Host, host_id=host_id, lane_count=lane_count)

    # Projections

    def register_projection(self, projection: str, consumer_group: str = "default") -> Projection:
        """Make a projection known; harmless when it is."""
        return self._one(
            "register_projection", Projection, projection=projection, consumer_group=consumer_group
        )

    def start_projection(
        self, projection: str, consumer_group: str = "default", at: str = "BEGINNING"
    ) -> Projection:
        """Fix where a projection starts on the outbox, BEGINNING or NOW, and set it running."""
        return self._one(
            "start_projection",
            Projection,
            projection=projection,
            consumer_group=consumer_group,
            at=at,
        )

    def pause_projection(
        self, projection: str, consumer_group: str = "default", reason: str | None = None
    ) -> Projection:
        """Let a projection take no further batches."""
        return self._one(
            "pause_projection",
            Projection,
            projection=projection,
            consumer_group=consumer_group,
            reason=reason,
        )

    def resume_projection(
        self, projection: str, consumer_group: str = "default", reason: str | None = None
    ) -> Projection:
        """Let a paused projection go on."""
        return self._one(
            "resume_projection",
            Projection,
            projection=projection,
            consumer_group=consumer_group,
            reason=reason,
        )

    # Live work (driver only)

    def claim_batch(
        self,
        projection: str,
        consumer_group: str = "default",
        host_id: UUID | None = None,
        lane: int | None = None,
        limit: int = 500,
        woken_only: bool = False,
        with_events: bool = True,
    ) -> list[ClaimedTransaction]:
        """Claim positions, lock scopes and decide what is to be done with each transaction."""
        return self._all(
            "claim_batch",
            ClaimedTransaction,
            projection=projection,
            consumer_group=consumer_group,
            host_id=host_id,
            lane=lane,
            limit=limit,
            woken_only=woken_only,
            with_events=with_events,
        )

    def load_batch(self, xact_id: int) -> list[BatchTransaction]:
        """The batch or chunk in hand once more, with its events."""
        return self._all("load_batch", BatchTransaction, xact_id=str(xact_id))

    def run_batch(
        self,
        handlers: Sequence[dict[str, Any]],
        failures: Sequence[dict[str, Any]] = (),
        first_only: bool = False,
    ) -> BatchOutcome:
        """Run the handlers of the batch or chunk in hand in the database."""
        return self._one(
            "run_batch",
            BatchOutcome,
            handlers=Jsonb(list(handlers)),
            failures=Jsonb(list(failures)),
            first_only=first_only,
        )

    def complete_batch(
        self,
        xact_id: int,
        failures: Sequence[dict[str, Any]] = (),
        skipped: Sequence[int] = (),
        upto: int | None = None,
    ) -> BatchResult:
        """Write what became of the batch that this database transaction claimed."""
        return self._one(
            "complete_batch",
            BatchResult,
            xact_id=str(xact_id),
            failures=Jsonb(list(failures)),
            skipped=list(skipped),
            upto=upto,
        )

    def begin_trial(
        self,
        projection: str,
        consumer_group: str,
        host_ids: Sequence[UUID],
        transaction_ids: Sequence[str],
    ) -> None:
        """Note that the handlers of these transactions begin."""
        self._value(
            "begin_trial",
            projection=projection,
            consumer_group=consumer_group,
            host_ids=list(host_ids),
            transaction_ids=list(transaction_ids),
        )

    def end_trial(
        self,
        projection: str,
        consumer_group: str,
        host_ids: Sequence[UUID],
        transaction_ids: Sequence[str],
    ) -> None:
        """Take back that they began: their batch was rolled back and nothing went down."""
        self._value(
            "end_trial",
            projection=projection,
            consumer_group=consumer_group,
            host_ids=list(host_ids),
            transaction_ids=list(transaction_ids),
        )

    def capture_failure(
        self,
        projection: str,
        consumer_group: str,
        host_id: UUID,
        transaction_id: str,
        error: dict[str, Any],
    ) -> str:
        """Keep a transaction that failed in a processor of other make; return the decision."""
        found: str = self._value(
            "capture_failure",
            projection=projection,
            consumer_group=consumer_group,
            host_id=host_id,
            transaction_id=transaction_id,
            error=Jsonb(error),
        )
        return found

    def report_fault(
        self,
        projection: str,
        consumer_group: str = "default",
        host_id: UUID | None = None,
        lane: int | None = None,
        fault_code: str | None = None,
    ) -> None:
        """Note that a batch was rolled back whole."""
        self._value(
            "report_fault",
            projection=projection,
            consumer_group=consumer_group,
            host_id=host_id,
            lane=lane,
            fault_code=fault_code,
        )

    # People

    def assert_actor(self, actor: str, host_id: UUID) -> None:
        """Act for somebody whom a gateway has authenticated, in this database transaction."""
        self._value("assert_actor", actor=actor, host_id=host_id)

    def add_member(self, member: str, host_id: UUID | None = None) -> None:
        """Make a login role or a vouched for person a member of a host; None: of every one."""
        self._value("add_member", member=member, host_id=host_id)

    def remove_member(self, member: str, host_id: UUID | None = None) -> None:
        """Take one membership back."""
        self._value("remove_member", member=member, host_id=host_id)

    # Capacity and retention

    def set_capacity(self, host_id: UUID, soft_limit: int, hard_limit: int) -> Archive:
        """Say how many bytes may be kept of the failures of a host."""
        return self._one(
            "set_capacity",
            Archive,
            host_id=host_id,
            soft_limit=soft_limit,
            hard_limit=hard_limit,
        )

    def place_hold(self, host_id: UUID, reason: str, failure_id: UUID | None = None) -> LegalHold:
        """Keep the payloads of a failure, or of all of a host, from retention."""
        return self._one(
            "place_hold", LegalHold, host_id=host_id, reason=reason, failure_id=failure_id
        )

    def release_hold(self, host_id: UUID, hold_id: UUID, reason: str) -> LegalHold:
        """Release a legal hold."""
        return self._one("release_hold", LegalHold, host_id=host_id, hold_id=hold_id, reason=reason)

    def remove_payloads(self, host_id: UUID, older_than: timedelta, limit: int = 1000) -> Removal:
        """Remove the payloads of failures that were resolved or waived before a time."""
        return self._one(
            "remove_payloads", Removal, host_id=host_id, older_than=older_than, limit=limit
        )

    def prune_outbox(self, host_id: UUID, older_than: timedelta, limit: int = 10000) -> int:
        """Remove from the outbox what every projection has read; how many rows."""
        return self._value(  # type: ignore[no-any-return]
            "prune_outbox", host_id=host_id, older_than=older_than, limit=limit
        )

    def prune_ledger(
        self,
        projection: str,
        consumer_group: str,
        host_id: UUID,
        older_than: timedelta,
        limit: int = 10000,
    ) -> int:
        """Forget which unordered transactions were applied, behind a bound; how many rows."""
        return self._value(  # type: ignore[no-any-return]
            "prune_ledger",
            projection=projection,
            consumer_group=consumer_group,
            host_id=host_id,
            older_than=older_than,
            limit=limit,
        )

    # Failures

    def list_failures(
        self,
        host_id: UUID | None = None,
        projection: str | None = None,
        consumer_group: str | None = None,
        status: str | None = "OPEN",
        error_code: str | None = None,
        scope_type: str | None = None,
        scope_key: str | None = None,
        after: UUID | None = None,
        limit: int = 100,
    ) -> list[FailureSummary]:
        """Failures by age; `after` is the last failure id of the page before."""
        return self._all(
            "list_failures",
            FailureSummary,
            host_id=host_id,
            projection=projection,
            consumer_group=consumer_group,
            status=status,
            error_code=error_code,
            scope_type=scope_type,
            scope_key=scope_key,
            after=after,
            limit=limit,
        )

    def get_failure(self, host_id: UUID, failure_id: UUID) -> FailureDetail:
        """Everything kept of one failure but its payloads."""
        return self._one("get_failure", FailureDetail, host_id=host_id, failure_id=failure_id)

    # Requests

    def preview_request(
        self,
        host_id: UUID,
        projection: str,
        consumer_group: str = "default",
        strategy: str = "EXACT",
        failure_ids: Sequence[UUID] = (),
        transaction_ids: Sequence[str] = (),
        scopes: Sequence[dict[str, str]] = (),
    ) -> RequestPreview:
        """What a plan of this selection would hold, and what waits behind it."""
        return self._one(
            "preview_request",
            RequestPreview,
            host_id=host_id,
            projection=projection,
            consumer_group=consumer_group,
            strategy=strategy,
            failure_ids=list(failure_ids),
            transaction_ids=list(transaction_ids),
            scopes=Jsonb(list(scopes)),
        )

    def create_request(
        self,
        host_id: UUID,
        projection: str,
        consumer_group: str = "default",
        strategy: str = "EXACT",
        mode: str = "EXECUTE",
        failure_ids: Sequence[UUID] = (),
        transaction_ids: Sequence[str] = (),
        scopes: Sequence[dict[str, str]] = (),
        reason: str | None = None,
    ) -> RequestStatus:
        """Make an immutable plan of this selection."""
        return self._one(
            "create_request",
            RequestStatus,
            host_id=host_id,
            projection=projection,
            consumer_group=consumer_group,
            strategy=strategy,
            mode=mode,
            failure_ids=list(failure_ids),
            transaction_ids=list(transaction_ids),
            scopes=Jsonb(list(scopes)),
            reason=reason,
        )

    def get_request(self, host_id: UUID, request_id: UUID) -> RequestStatus:
        """A request's plan and status."""
        return self._one("get_request", RequestStatus, host_id=host_id, request_id=request_id)

    def list_requests(
        self, host_id: UUID | None = None, status: str | None = None, limit: int = 100
    ) -> list[RequestStatus]:
        """Requests, the newest first."""
        return self._all(
            "list_requests", RequestStatus, host_id=host_id, status=status, limit=limit
        )

    def list_items(self, host_id: UUID, request_id: UUID) -> list[Item]:
        """The items of a request in the order of its plan."""
        return self._all("list_items", Item, host_id=host_id, request_id=request_id)

    def approve_request(
        self, host_id: UUID, request_id: UUID, plan_hash: bytes, reason: str
    ) -> RequestStatus:
        """Approve the plan of this hash; its requester cannot."""
        return self._one(
            "approve_request",
            RequestStatus,
            host_id=host_id,
            request_id=request_id,
            plan_hash=plan_hash,
            reason=reason,
        )

    def cancel_request(self, host_id: UUID, request_id: UUID, reason: str) -> RequestStatus:
        """Withdraw a request that was not executed."""
        return self._one(
            "cancel_request", RequestStatus, host_id=host_id, request_id=request_id, reason=reason
        )

    def release_request(
        self,
        host_id: UUID,
        request_id: UUID,
        reason: str,
        action_id: UUID | None = None,
        impact: dict[str, Any] | None = None,
    ) -> PendingAction:
        """End an abandoned execution: ask for it, or decide what another person asked for."""
        return self._one(
            "release_request",
            PendingAction,
            host_id=host_id,
            request_id=request_id,
            reason=reason,
            action_id=action_id,
            impact=None if impact is None else Jsonb(impact),
        )

    def waive_failures(
        self,
        host_id: UUID,
        failure_ids: Sequence[UUID],
        reason: str,
        action_id: UUID | None = None,
        impact: dict[str, Any] | None = None,
    ) -> PendingAction:
        """Give failures up for good: ask for it, or decide what another person asked for."""
        return self._one(
            "waive_failures",
            PendingAction,
            host_id=host_id,
            failure_ids=list(failure_ids),
            reason=reason,
            action_id=action_id,
            impact=None if impact is None else Jsonb(impact),
        )

    def retire_projection(
        self,
        projection: str,
        consumer_group: str = "default",
        reason: str | None = None,
        action_id: UUID | None = None,
        impact: dict[str, Any] | None = None,
    ) -> PendingAction:
        """Give a paused projection up for good: ask, or decide what another person asked for."""
        return self._one(
            "retire_projection",
            PendingAction,
            projection=projection,
            consumer_group=consumer_group,
            reason=reason,
            action_id=action_id,
            impact=None if impact is None else Jsonb(impact),
        )

    def pause_execution(self, reason: str) -> Config:
        """Stop the execution of replays: no new intent, claim or chunk."""
        return self._one("pause_execution", Config, reason=reason)

    def resume_execution(self, reason: str) -> Config:
        """Allow the execution of replays again; nothing resumes by itself."""
        return self._one("resume_execution", Config, reason=reason)

    def exclude_types(self, event_types: Sequence[str], reason: str) -> Config:
        """Set which event types are excluded from replay, all of them at a time."""
        return self._one("exclude_types", Config, event_types=list(event_types), reason=reason)

    def get_status(self) -> FleetStatus:
        """The settings that hold, and whether all processes that are expected have them."""
        return self._one("get_status", FleetStatus)

    def expect_instance(self, instance_id: str, is_expected: bool = True) -> None:
        """Say that a process is expected to live, or no longer is."""
        self._value("expect_instance", instance_id=instance_id, is_expected=is_expected)

    def report_instance(self, instance_id: str) -> Config:
        """Say that a process is alive; returns the settings that hold."""
        return self._one("report_instance", Config, instance_id=instance_id)

    def execute_request(
        self, host_id: UUID, request_id: UUID, plan_hash: bytes, reason: str
    ) -> RequestStatus:
        """Record the intent to execute an approved plan."""
        return self._one(
            "execute_request",
            RequestStatus,
            host_id=host_id,
            request_id=request_id,
            plan_hash=plan_hash,
            reason=reason,
        )

    def get_timeline(self, host_id: UUID, request_id: UUID) -> list[TimelineEntry]:
        """Everything that happened to a request, oldest first."""
        return self._all("get_timeline", TimelineEntry, host_id=host_id, request_id=request_id)

    # Execution (driver only)

    def claim_request(
        self,
        host_id: UUID,
        request_id: UUID,
        plan_hash: bytes,
        budget: timedelta = timedelta(seconds=1800),
        pooled: bool = False,
    ) -> RequestStatus:
        """Become the one holder of a request for as long as the budget lasts."""
        return self._one(
            "claim_request",
            RequestStatus,
            host_id=host_id,
            request_id=request_id,
            plan_hash=plan_hash,
            budget=budget,
            pooled=pooled,
        )

    def begin_items(self, host_id: UUID, request_id: UUID, fence: int, limit: int = 500) -> int:
        """Raise the barriers of the next chunk; return its number of items, 0 when none is left."""
        count: int = self._value(
            "begin_items", host_id=host_id, request_id=request_id, fence=fence, limit=limit
        )
        return count

    def load_items(
        self, host_id: UUID, request_id: UUID, fence: int, with_events: bool = True
    ) -> list[BatchTransaction]:
        """Lock, check and read the chunk that was begun."""
        return self._all(
            "load_items",
            BatchTransaction,
            host_id=host_id,
            request_id=request_id,
            fence=fence,
            with_events=with_events,
        )

    def complete_items(
        self,
        host_id: UUID,
        request_id: UUID,
        fence: int,
        xact_id: int,
        failures: Sequence[dict[str, Any]] = (),
        upto: int | None = None,
    ) -> None:
        """Write what became of the chunk, in the transaction of its effects."""
        self._value(
            "complete_items",
            host_id=host_id,
            request_id=request_id,
            fence=fence,
            xact_id=str(xact_id),
            failures=Jsonb(list(failures)),
            upto=upto,
        )

    def roll_back_items(
        self,
        host_id: UUID,
        request_id: UUID,
        fence: int,
        failures: Sequence[dict[str, Any]] = (),
        upto: int | None = None,
    ) -> None:
        """Write what became of a dry run's chunk, after its effects were rolled back."""
        self._value(
            "roll_back_items",
            host_id=host_id,
            request_id=request_id,
            fence=fence,
            failures=Jsonb(list(failures)),
            upto=upto,
        )

    def settle_items(
        self, host_id: UUID, request_id: UUID, fence: int, failure_code: str | None = None
    ) -> RequestStatus:
        """Wake what is next now and take down the barriers of the chunk."""
        return self._one(
            "settle_items",
            RequestStatus,
            host_id=host_id,
            request_id=request_id,
            fence=fence,
            failure_code=failure_code,
        )

    def yield_request(self, host_id: UUID, request_id: UUID, fence: int) -> RequestStatus:
        """Give the claim back; what is not done can be resumed."""
        return self._one(
            "yield_request", RequestStatus, host_id=host_id, request_id=request_id, fence=fence
        )

    def report_drain(
        self, host_id: UUID, request_id: UUID, fence: int, applied_count: int, failed_count: int
    ) -> None:
        """Record what was drained behind the end of a request."""
        self._value(
            "report_drain",
            host_id=host_id,
            request_id=request_id,
            fence=fence,
            applied_count=applied_count,
            failed_count=failed_count,
        )

    # How a call is made

    def _one(self, function: str, row: type[Row], **args: Any) -> Row:
        found = self._select(function, row, args).fetchone()
        assert found is not None, f"{function} returns exactly one row"
        return found

    def _all(self, function: str, row: type[Row], **args: Any) -> list[Row]:
        return self._select(function, row, args).fetchall()

    def _value(self, function: str, **args: Any) -> Any:
        cursor = self.conn.cursor(row_factory=scalar_row)
        return cursor.execute(_query(function, (), tuple(args)), args).fetchone()

    def _select(self, function: str, row: type[Row], args: dict[str, Any]) -> psycopg.Cursor[Row]:
        # As text, bytea would cost twice its size.
        cursor = self.conn.cursor(
            row_factory=class_row(row), binary=issubclass(row, BatchTransaction)
        )
        columns = tuple(field.name for field in fields(row))
        return cursor.execute(_query(function, columns, tuple(args)), args)


@cache
def _query(function: str, columns: tuple[str, ...], arguments: tuple[str, ...]) -> bytes:
    """The call of a function by named notation, selecting its record's columns, if it has any."""
    call = sql.SQL("replay.{}({})").format(
        sql.Identifier(function),
        sql.SQL(", ").join(
            sql.SQL("{} => {}").format(sql.Identifier(f"p_{name}"), _placeholder(name))
            for name in arguments
        ),
    )
    if not columns:
        return sql.SQL("select {}").format(call).as_bytes()
    selected = sql.SQL(", ").join(_column(name) for name in columns)
    return sql.SQL("select {} from {}").format(selected, call).as_bytes()


def _placeholder(name: str) -> sql.Placeholder:
    return sql.Placeholder(name, PyFormat.BINARY if name in BINARIES else PyFormat.AUTO)


def _column(name: str) -> sql.Composable:
    if name in COMPOSITES:
        return sql.SQL("to_jsonb({0}) as {0}").format(sql.Identifier(name))
    return sql.Identifier(name)
