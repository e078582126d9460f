"""Rows as the functions return them: same names, same order."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Registry:
    """A published registry version; the highest is the current one."""

    registry_version: int
    digest: bytes
    published_at: datetime
    published_by: str


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """What one event type at one event schema is."""

    registry_version: int
    event_type: str
    event_schema: str
    policy: str
    data_schema: str | None
    repair_disposition: str
    repair_schema_version: str | None
    side_effects: str


@dataclass(frozen=True, slots=True)
class Host:
    """Settings of a host."""

    host_id: UUID
    lane_count: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """An appended transaction, without its events."""

    host_id: UUID
    transaction_id: str
    registry_version: int
    member_count: int
    byte_count: int
    runs_alone: bool
    scopes: list[dict[str, Any]]
    appended_at: datetime
    appended_by: str


@dataclass(frozen=True, slots=True)
class Projection:
    """A read model and its consumer group, and their lifecycle."""

    projection_id: int
    projection: str
    consumer_group: str
    status: str
    started_at: datetime | None
    start_at: str | None
    pause_reason: str | None
    registered_at: datetime
    registered_by: str


@dataclass(frozen=True, slots=True)
class BatchTransaction:
    """One transaction of a batch or chunk, as the executor gets it."""

    xact_id: int
    ord: int
    host_id: UUID
    transaction_id: str
    decision: str
    was_deferred: bool
    follows: list[int]
    event_types: list[str] | None
    event_schemas: list[str] | None
    payloads: list[bytes] | None


@dataclass(frozen=True, slots=True)
class ClaimedTransaction(BatchTransaction):
    """One transaction of a live batch, and how often it took a process or a connection down."""

    crash_count: int


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """What a batch or chunk came to, in the shape complete_batch and complete_items take it."""

    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    upto: int | None = None


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What a completed batch came to, by decision."""

    applied_count: int
    duplicate_count: int
    stale_count: int
    observed_count: int
    conflict_count: int
    deferred_count: int
    drained_count: int
    failed_count: int


@dataclass(frozen=True, slots=True)
class FailureSummary:
    """A failed transaction, as lists show it."""

    host_id: UUID
    failure_id: UUID
    projection: str
    consumer_group: str
    transaction_id: str
    status: str
    replayable: bool
    member_count: int
    byte_count: int
    scopes: list[dict[str, Any]]
    error_code: str
    error_text: str | None
    error_handler: str | None
    error_line: str | None
    error_constraint: str | None
    error_table: str | None
    error_column: str | None
    captured_at: datetime
    resolution_code: str | None
    resolved_at: datetime | None
    resolved_by_request_id: UUID | None


@dataclass(frozen=True, slots=True)
class FailureDetail(FailureSummary):
    """Everything kept of a failed transaction but its payloads."""

    registry_version: int
    fingerprint: bytes
    lane: int
    source_offset: int
    members: list[dict[str, Any]]
    observation_count: int
    waiting_count: int


@dataclass(frozen=True, slots=True)
class RequestPreview:
    """What a plan of a selection would hold, and what waits behind it."""

    host_id: UUID
    projection: str
    consumer_group: str
    strategy: str
    item_count: int
    member_count: int
    byte_count: int
    registry_versions: list[int]
    items: list[dict[str, Any]]
    waiting_count: int
    waiting: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """A replay request: what is planned, who decided what, and how it stands."""

    host_id: UUID
    request_id: UUID
    projection: str
    consumer_group: str
    strategy: str
    mode: str
    status: str
    retryable: bool
    failure_code: str | None
    plan_hash: bytes
    item_count: int
    done_count: int
    barrier_count: int
    member_count: int
    byte_count: int
    reason: str
    requested_by: str
    requested_at: datetime
    expires_at: datetime
    approved_by: str | None
    approved_at: datetime | None
    approval_reason: str | None
    executed_by: str | None
    executed_at: datetime | None
    execution_reason: str | None
    cancelled_by: str | None
    cancellation_reason: str | None
    fence: int
    lease_until: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True)
class Item:
    """One failure in a plan, how often it was tried and how its last try ended."""

    host_id: UUID
    request_id: UUID
    item_no: int
    failure_id: UUID
    transaction_id: str
    status: str
    failure_status: str
    attempt_count: int
    last_fence: int | None
    error_code: str | None
    error_text: str | None
    error_handler: str | None
    error_line: str | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One thing that happened to a request."""

    at: datetime
    kind: str
    actor: str | None
    fence: int | None
    item_no: int | None
    summary: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Config:
    """The settings of the engine, as of one generation."""

    generation: int
    enabled: bool
    excluded_event_types: list[str]
    digest: bytes
    reason: str
    changed_by: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Archive:
    """How many bytes are kept of the failures of a host, and how many may be."""

    host_id: UUID
    failure_count: int
    byte_count: int
    soft_limit: int
    hard_limit: int


@dataclass(frozen=True, slots=True)
class LegalHold:
    """What keeps payloads from retention. failure_id: None: every failure of the host."""

    host_id: UUID
    hold_id: UUID
    failure_id: UUID | None
    reason: str
    placed_by: str
    placed_at: datetime
    released_by: str | None
    released_at: datetime | None
    release_reason: str | None


@dataclass(frozen=True, slots=True)
class Removal:
    """What retention has removed in one call."""

    failure_count: int
    byte_count: int


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """The settings that hold, and whether each process that runs handlers is known to have them."""

    generation: int
    enabled: bool
    excluded_event_types: list[str]
    digest: bytes
    reason: str
    changed_by: str
    changed_at: datetime
    executing_count: int
    is_confirmed: bool
    instances: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class PendingAction:
    """A step that one person asked for and another has to take."""

    action_id: UUID
    host_id: UUID | None
    kind: str
    subject: str
    request_id: UUID | None
    projection_id: int | None
    impact: dict[str, Any]
    status: str
    reason: str
    requested_by: str
    requested_at: datetime
    expires_at: datetime
    decided_by: str | None
    decided_at: datetime | None
    decision_reason: str | None
