"""Permit cases: one row a case, kept by a naive handler and by the corrected one.

`naive` and `corrected` are two releases of one projection, so they have one name. `clean` is the
corrected handler under a name and a table of its own, to compare with.
"""

from datetime import datetime

from psycopg import Cursor, sql

from pyreplay.projection import Event, Projection

EVENT_TYPES = (
    "ConfirmationOfReceiptEvent",
    "T02CheckConfirmationOfReceiptEvent",
    "T03AdjustConfirmationOfReceiptEvent",
    "T04DetermineConfirmationOfReceiptEvent",
    "T05PrintAndSendConfirmationOfReceiptEvent",
    "T06DetermineNecessityOfStopAdviceEvent",
    "T071DraftInternAdviceAspect1Event",
    "T072DraftInternAdviceAspect2Event",
    "T073DraftInternAdviceHoldForAspect3Event",
    "T074DraftInternalAdviceToHoldForType4Event",
    "T075DraftInternAdviceAspect5Event",
    "T08DraftAndSendRequestForAdviceEvent",
    "T091ProcessOrReceiveExternalAdviceFromParty1Event",
    "T092ProcessOrReceiveExternalAdviceFromParty2Event",
    "T093ProcessOrReceiveExternalAdviceFromParty3Event",
    "T094ProcessOrReceiveExternalAdviceFromParty4Event",
    "T10DetermineNecessityToStopIndicationEvent",
    "T11CreateDocumentXRequestUnlicensedEvent",
    "T12CheckDocumentXRequestUnlicensedEvent",
    "T13AdjustDocumentXRequestUnlicensedEvent",
    "T14DetermineDocumentXRequestUnlicensedEvent",
    "T15PrintDocumentXRequestUnlicensedEvent",
    "T16ReportReasonsToHoldRequestEvent",
    "T17CheckReportYToStopIndicationEvent",
    "T18AdjustReportYToStopIndicitionEvent",
    "T19DetermineReportYToStopIndicationEvent",
    "T20PrintReportYToStopIndicationEvent",
)

# With a fraction of a second or without.
TIME = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d$"

TEXTS = (
    "caseId",
    "step",
    "taskId",
    "channel",
    "department",
    "responsible",
    "resource",
    "resourceGroup",
    "caseGroup",
    "startDate",
    "deadline",
    "endDatePlanned",
    "endDate",
)

DATA_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": TEXTS,
    "properties": {name: {"type": "string"} for name in TEXTS}
    | {"step": {"type": "string", "minLength": 1}, "deadline": {"type": "string", "pattern": TIME}},
}

STATEMENT = """
insert into {table} as c
  (host_id, case_id, version, last_step, steps, days_to_deadline, end_date)
values (%s, %s, %s, %s, 1, %s, %s)
on conflict (host_id, case_id) do update set
  version = excluded.version,
  last_step = excluded.last_step,
  steps = c.steps + 1,
  days_to_deadline = excluded.days_to_deadline,
  end_date = excluded.end_date
where c.version < excluded.version
"""

UPSERT = {
    table: sql.SQL(STATEMENT).format(table=sql.Identifier("permits", table)).as_string()
    for table in ("permit_case", "permit_case_clean")
}


def keep_naive(cursor: Cursor, event: Event) -> None:
    """Keep a case, as if every case had an end date."""
    keep(cursor, event, "permit_case", datetime.fromisoformat(event.data["endDate"]))


def keep_corrected(cursor: Cursor, event: Event) -> None:
    """Keep a case; an empty end date is none."""
    keep(cursor, event, "permit_case", read_end_date(event.data["endDate"]))


def keep_clean(cursor: Cursor, event: Event) -> None:
    """Keep a case as keep_corrected does, in the other table."""
    keep(cursor, event, "permit_case_clean", read_end_date(event.data["endDate"]))


def read_end_date(text: str) -> datetime | None:
    """Read an end date, which may be empty."""
    return datetime.fromisoformat(text) if text else None


def keep(cursor: Cursor, event: Event, table: str, end_date: datetime | None) -> None:
    """Write one step of a case, unless the row is there already or further on."""
    step, deadline = event.data["step"], datetime.fromisoformat(event.data["deadline"])
    days = (deadline - datetime.fromisoformat(event.attributes["time"])).days
    cursor.execute(
        UPSERT[table],
        (event.host_id, event.subject, event.aggregate_version, step, days, end_date),
    )


naive, corrected = Projection("permits"), Projection("permits")
clean = Projection("permits_clean")

for event_type in EVENT_TYPES:
    for projection, handler in (
        (naive, keep_naive),
        (corrected, keep_corrected),
        (clean, keep_clean),
    ):
        projection.declare(event_type, handler, policy="AGGREGATE_VERSION", data_schema=DATA_SCHEMA)
