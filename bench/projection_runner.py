"""The permit cases as eventsourcing does them: an application, a view, and its runner."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from eventsourcing.application import Application
from eventsourcing.domain import DomainEvent
from eventsourcing.persistence import Tracking
from eventsourcing.postgres import PostgresTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner

from bench.floors import values
from examples.permits import app

# Its statement goes through a pipeline, where psycopg 3.3 hangs on one of about 1 MB.
STORED = 100

UPSERT = app.UPSERT["permit_case_clean"].encode()


class Stepped(DomainEvent):
    """One event of the log, as it is."""

    event: dict[str, Any]


class Permits(Application[UUID]):
    """The store of the events."""


class Cases(PostgresTrackingRecorder):
    """The view: the same upsert, in one database transaction with what is tracked."""

    def keep(self, event: dict[str, Any], tracking: Tracking) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self._insert_tracking(cursor, tracking)
            cursor.execute(UPSERT, values(UUID(event["host"]), event))


class CaseProjection(Projection[Cases]):
    name = "cases"

    def process_event(self, domain_event: Any, tracking: Tracking) -> None:
        self.view.keep(domain_event.event, tracking)


class Peer:
    """The application with its events, and its projection."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.environment = environment

    def store(self, events: Sequence[dict[str, Any]]) -> int:
        """Store the events in their order; return the id of the last one."""
        permits = Permits(self.environment)
        last_id = 0
        stored = [permits.mapper.to_stored_event(_domain_event(event)) for event in events]
        for first in range(0, len(stored), STORED):
            ids = permits.recorder.insert_events(stored[first : first + STORED])
            last_id = list(ids or ())[-1]
        permits.close()
        return last_id

    def forget(self) -> None:
        """Let the next run begin at the beginning."""
        with self._runner() as runner, runner.view.datastore.transaction(commit=True) as cursor:
            # The table also remembers that it was migrated.
            query = f"delete from {runner.view.tracking_table_name} where application_name = %s"
            cursor.execute(query, (runner.app.name,))

    def run(self, last_id: int) -> None:
        """Project all events."""
        with self._runner() as runner:
            runner.wait(last_id, timeout=3600)

    def _runner(self) -> ProjectionRunner[Permits, Cases]:
        return ProjectionRunner(
            application_class=Permits,
            projection_class=CaseProjection,
            view_class=Cases,
            env=self.environment,
        )


def _domain_event(event: dict[str, Any]) -> Stepped:
    return Stepped(
        originator_id=uuid5(UUID(event["host"]), event["subject"]),
        originator_version=event["aggregateversion"],
        timestamp=datetime.fromisoformat(event["time"]),
        event=event,
    )
