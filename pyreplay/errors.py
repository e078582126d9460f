"""One class per row of replay.error. psycopg raises them itself, by SQLSTATE."""

import json
import re
from typing import Any, ClassVar

import psycopg


class ReplayError(psycopg.DatabaseError):
    """Anything the engine or its driver raises on purpose.

    One that the driver raises has no server message behind it; it gets the same parts as keywords.
    """

    name: ClassVar[str] = "REPLAY_ERROR"

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.name = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).upper()

    def __init__(
        self,
        *args: Any,
        details: dict[str, Any] | None = None,
        hint: str | None = None,
        **from_server: Any,
    ) -> None:
        super().__init__(*args, **from_server)
        self._details = details
        self._hint = hint

    @property
    def details(self) -> dict[str, Any]:
        """What a program may want to know: ids, expected and found values; never a payload."""
        if self._details is not None:
            return self._details
        found: dict[str, Any] = json.loads(self.diag.message_detail or "{}")
        return found

    @property
    def hint(self) -> str | None:
        """The next step, for people."""
        return self._hint or self.diag.message_hint


class InvalidArgument(ReplayError, code="RP001"):
    """An argument is missing, out of bounds or malformed."""


class MalformedEvent(ReplayError, code="RP002"):
    """An event is no JSON that can be kept, or an envelope attribute is missing or malformed."""


class TransactionIncomplete(ReplayError, code="RP003"):
    """Members do not form one complete transaction: ordinals, counts, hosts or ids differ."""


class TransactionTooLarge(ReplayError, code="RP004"):
    """More members, scopes or bytes than a transaction may have."""


class OrderingInvalid(ReplayError, code="RP005"):
    """Ordering metadata is missing, not positive, not contiguous, or contradicts the
    registered policy."""


class UnknownEventType(ReplayError, code="RP006"):
    """The registry has no entry for this event type and event schema."""


class InvalidRegistry(ReplayError, code="RP007"):
    """An entry to be published is malformed or contradicts itself."""


class InvalidData(ReplayError, code="RP008"):
    """The data of an event does not match its registered JSON Schema."""


class ReplayLimitExceeded(ReplayError, code="RP009"):
    """A plan would hold more than 10,000 transactions or 256 MiB."""


class ReadCommittedRequired(ReplayError, code="RP010"):
    """The engine locks first and reads after; that needs READ COMMITTED."""


class EventNotReplayable(ReplayError, code="RP011"):
    """A member is excluded from replay by its registered policy or side effects."""


class ReplayGap(ReplayError, code="RP012"):
    """A version that was never received stands between progress and the selection."""


class HandlerContract(ReplayError, code="RP013"):
    """A handler appended events or touched transaction control."""


class ProjectionNotFound(ReplayError, code="RP101"):
    """No projection of this name and consumer group is registered."""


class FailureNotFound(ReplayError, code="RP102"):
    """The host has no such failure."""


class RequestNotFound(ReplayError, code="RP103"):
    """The host has no such replay request."""


class TransactionNotFound(ReplayError, code="RP104"):
    """The host has no such transaction, or it is not deferred where it has to be."""


class RegistryEmpty(ReplayError, code="RP105"):
    """No registry version has been published yet."""


class ActionNotFound(ReplayError, code="RP106"):
    """Nobody has asked for this action on this request."""


class HoldNotFound(ReplayError, code="RP107"):
    """No such legal hold stands."""


class TransactionConflict(ReplayError, code="RP201"):
    """The transaction id is taken by other bytes."""


class EventIdConflict(ReplayError, code="RP202"):
    """An event id is already used in this host."""


class VersionConflict(ReplayError, code="RP203"):
    """A version or revision is not the next one of its stream."""


class AggregateProjectionBlocked(ReplayError, code="RP204"):
    """A projection has an open failure in this aggregate or graph; new commands wait until it
    is healed."""


class RegistryStale(ReplayError, code="RP205"):
    """The registry moved on since the driver loaded it; reload, validate, try again."""


class RegistryPinned(ReplayError, code="RP206"):
    """An entry is still used by stored events and cannot be removed."""


class InvalidReplayState(ReplayError, code="RP207"):
    """The request or failure is in a state that does not allow this."""


class StalePlan(ReplayError, code="RP208"):
    """A fact the plan was approved on has changed; nothing was done."""


class PlanExpired(ReplayError, code="RP209"):
    """The plan was not executed within its life; make a new one."""


class ApproverMustDiffer(ReplayError, code="RP210"):
    """The person who asked cannot approve."""


class PlanHashMismatch(ReplayError, code="RP211"):
    """The hash names another plan than this request holds."""


class ReplayExecutionInProgress(ReplayError, code="RP212"):
    """Somebody else executes this request now."""


class InvalidProjectionState(ReplayError, code="RP213"):
    """The projection is in a state that does not allow this."""


class ScopeBusy(ReplayError, code="RP214"):
    """Live work holds a scope of the chunk at this instant; begin again."""


class PauseTimeout(ReplayError, code="RP215"):
    """The scopes of a chunk stayed busy; the request can be resumed."""


class RowImmutable(ReplayError, code="RP216"):
    """This row, or what was to be changed of it, never changes."""


class NotInstalled(ReplayError, code="RP217"):
    """This database holds no pyreplay engine."""


class EngineOutdated(ReplayError, code="RP218"):
    """The engine in this database is older than the driver, or not quite its own."""


class DriverOutdated(ReplayError, code="RP219"):
    """The engine in this database is newer than the driver."""


class UnsupportedServer(ReplayError, code="RP220"):
    """The server cannot hold the engine: too old a release, or not UTF-8."""


class InstallFailed(ReplayError, code="RP221"):
    """A file of the engine does not load here; nothing was changed."""


class ReplayExecutionPaused(ReplayError, code="RP222"):
    """The execution of replays is paused; what was begun can be resumed."""


class ActionExpired(ReplayError, code="RP223"):
    """Nobody decided the action within its life; ask anew."""


class ImpactChanged(ReplayError, code="RP224"):
    """The action would do something else than what was shown and named."""


class WaiverRefused(ReplayError, code="RP225"):
    """A failure that holds an aggregate or a graph cannot be waived."""


class ExclusionRefused(ReplayError, code="RP226"):
    """The event type is unknown, ordered, or held by an ordered transaction."""


class OutboxPruned(ReplayError, code="RP227"):
    """The beginning of the outbox is gone; a projection can only start at NOW."""


class LeaseLost(ReplayError, code="RP301"):
    """A newer claim holds this request; nothing was written."""


class BatchLost(ReplayError, code="RP302"):
    """The batch belongs to another database transaction; nothing was written."""


class ReplayExecutionUnavailable(ReplayError, code="RP303"):
    """The connection was lost while a replay ran; look at the request, then retry."""


class NotAllowed(ReplayError, code="RP401"):
    """The caller is no member of this host, or may not do this."""


class ActorNotAsserted(ReplayError, code="RP402"):
    """Only a member of replay_gateway may act for somebody else."""


class ProgressMoved(ReplayError, code="RP501"):
    """Progress is not where the decision found it; the batch is rolled back and decided again."""


class ArchiveCapacityExceeded(ReplayError, code="RP502"):
    """There is no room to keep what might fail; the source stands still until there is."""
