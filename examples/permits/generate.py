"""Events of invented permit cases in the shape of the real log, any number of them, by seed.

    python -m examples.permits.generate --cases 1434 --seed 1 > permits.jsonl

Cases overlap in time; a transaction's events follow each other. About 7 cases in 100 have an empty
end date in all their events, which is what the naive handler trips over.
"""

import argparse
import heapq
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

NAMESPACE = uuid5(NAMESPACE_URL, "urn:permit-office")
HOSTS = tuple(str(uuid5(NAMESPACE, name)) for name in ("general", "experts", "customer contact"))

BEGINNING = datetime(2010, 10, 2, 7)
# As in the real log: all of them in the first host.
NO_END_DATE = 105 / 1390
FIRST_HOST = 0.97
ONE_TRANSACTION = 0.2
SPLIT = 0.5
LARGEST_TRANSACTION = 10

RECEIPT = "Confirmation of receipt"
CHECK = "T02 Check confirmation of receipt"
ADJUST = "T03 Adjust confirmation of receipt"
DETERMINE = "T04 Determine confirmation of receipt"
SEND = "T05 Print and send confirmation of receipt"
NEED_ADVICE = "T06 Determine necessity of stop advice"
NEED_STOP = "T10 Determine necessity to stop indication"
DRAFTS = (
    "T07-1 Draft intern advice aspect 1",
    "T07-2 Draft intern advice aspect 2",
    "T07-3 Draft intern advice hold for aspect 3",
    "T07-4 Draft internal advice to hold for type 4",
    "T07-5 Draft intern advice aspect 5",
)
ASK_OUTSIDE = "T08 Draft and send request for advice"
ANSWERS = tuple(
    f"T09-{party} Process or receive external advice from party {party}" for party in range(1, 5)
)
WITHOUT_LICENCE = (
    "T11 Create document X request unlicensed",
    "T12 Check document X request unlicensed",
    "T13 Adjust document X request unlicensed",
    "T12 Check document X request unlicensed",
    "T14 Determine document X request unlicensed",
    "T15 Print document X request unlicensed",
)
HOLD = (
    "T16 Report reasons to hold request",
    "T17 Check report Y to stop indication",
    "T18 Adjust report Y to stop indicition",
    "T17 Check report Y to stop indication",
    "T19 Determine report Y to stop indication",
    "T20 Print report Y to stop indication",
)

Event = dict[str, Any]
# When its next transaction happens, its number, that transaction, and those that follow.
OpenCase = tuple[datetime, int, list[Event], Iterator[list[Event]]]


def events(cases: int, seed: int, hosts: Sequence[str] = HOSTS) -> Iterator[Event]:
    """The events of `cases` cases as CloudEvents, ordered by the time of their transactions.

    The first host gets 97 cases in 100, the others share the rest. The same arguments give the
    same events; memory grows with the cases that are open at a time, not with `cases`.
    """
    namespace = uuid5(NAMESPACE, str(seed))
    random = Random(seed)
    open_cases: list[OpenCase] = []
    opened = BEGINNING
    for number in range(1, cases + 1):
        opened += timedelta(minutes=random.uniform(1, 60))
        while open_cases and open_cases[0][0] < opened:
            yield from _next_transaction(open_cases)
        case = _case(number, opened, namespace, hosts, Random(f"{seed}/{number}"))
        heapq.heappush(open_cases, (opened, number, next(case), case))
    while open_cases:
        yield from _next_transaction(open_cases)


def _next_transaction(open_cases: list[OpenCase]) -> list[Event]:
    """Take the earliest transaction off the heap and put the next one of its case there."""
    _, number, members, case = open_cases[0]
    following = next(case, None)
    if following is None:
        heapq.heappop(open_cases)
    else:
        at = datetime.fromisoformat(following[0]["time"]).replace(tzinfo=None)
        heapq.heapreplace(open_cases, (at, number, following, case))
    return members


def _case(
    number: int, opened: datetime, namespace: UUID, hosts: Sequence[str], random: Random
) -> Iterator[list[Event]]:
    """The transactions of one case, each a list of its events."""
    host = hosts[0] if random.random() < FIRST_HOST else random.choice(hosts[1:] or hosts)
    case_id, facts = f"case-{number}", _facts(opened, host, hosts, random)
    version, at = 0, opened
    for ordinal, steps in enumerate(_split(_steps(random), random)):
        at += timedelta(hours=random.uniform(1, 60)) if ordinal else timedelta()
        common = {"host": host, "transactionid": str(uuid5(namespace, f"{case_id}/{ordinal}"))}
        members = []
        for step in steps:
            version += 1
            at += timedelta(seconds=random.uniform(1, 10))
            event_id = str(uuid5(namespace, f"{case_id}@{version}"))
            data = {"caseId": case_id, "step": step, **_work(number, version, random), **facts}
            members.append(_event(event_id, step, at, version, common, data))
        for place, member in enumerate(members):
            member |= {"transactioncount": len(members), "transactionordinal": place}
        yield members


def _event(
    event_id: str, step: str, at: datetime, version: int, common: Event, data: Event
) -> Event:
    return {
        "specversion": "1.0",
        "id": event_id,
        "source": "urn:permit-office",
        "type": event_type(step),
        "subject": data["caseId"],
        "time": _local(at).isoformat(timespec="microseconds"),
        "datacontenttype": "application/json",
        **common,
        "aggregatetype": "PermitCase",
        "aggregateversion": version,
        "eventschema": "1",
        "data": data,
    }


def event_type(step: str) -> str:
    """The event type of a step: `T02 Check ...` is `T02Check...Event`."""
    words = step.replace("-", "").split()
    return "".join(word[0].upper() + word[1:] for word in words) + "Event"


def _steps(random: Random) -> list[str]:
    """The steps of a case, in an order that clerks take them in."""
    if random.random() < 0.08:
        return [RECEIPT]
    steps = [RECEIPT, CHECK]
    if random.random() < 0.04:
        steps += [ADJUST, CHECK]
    steps += [DETERMINE, SEND, NEED_ADVICE]
    if random.random() < 0.05:
        steps += [*random.sample(DRAFTS, random.randint(1, 3)), NEED_ADVICE]
    if random.random() < 0.015:
        steps += [ASK_OUTSIDE, *random.sample(ANSWERS, random.randint(1, 2)), NEED_ADVICE]
    steps.append(NEED_STOP)
    for extra, share in ((WITHOUT_LICENCE, 0.03), (HOLD, 0.015)):
        if random.random() < share:
            # The third and fourth steps are an adjustment and another check.
            steps += extra if random.random() < 0.2 else extra[:2] + extra[4:]
    return steps


def _split(steps: list[str], random: Random) -> Iterator[list[str]]:
    """What clerks did in one go: the whole case, or a few steps at a time."""
    split = 0 if random.random() < ONE_TRANSACTION else SPLIT
    taken: list[str] = []
    for step in steps:
        if taken and (len(taken) == LARGEST_TRANSACTION or random.random() < split):
            yield taken
            taken = []
        taken.append(step)
    yield taken


def _facts(opened: datetime, host: str, hosts: Sequence[str], random: Random) -> Event:
    """What all events of a case say alike."""
    start = opened.replace(hour=0, minute=0, second=0, microsecond=20_000)
    planned = start + timedelta(days=56) - timedelta(microseconds=10_000)
    deadline = planned if random.random() < 0.03 else planned.replace(microsecond=0)
    end = opened + timedelta(days=random.uniform(20, 60))
    endless = host == hosts[0] and random.random() < NO_END_DATE
    departments = ("General", "Experts", "Customer contact")
    return {
        "channel": random.choices(
            ("Internet", "Desk", "Post", "e-mail", "Intern"), (7478, 657, 308, 128, 6)
        )[0],
        "department": departments[hosts.index(host) % len(departments)],
        "responsible": f"Resource{random.randint(1, 39):02}",
        "caseGroup": "" if random.random() < 0.58 else f"Group {random.randint(1, 7)}",
        "startDate": str(_local(start)),
        "deadline": str(_local(deadline)),
        "endDatePlanned": str(_local(planned)),
        "endDate": "" if endless else str(_local(end)),
    }


def _work(number: int, version: int, random: Random) -> Event:
    """Who took one step."""
    return {
        "taskId": f"task-{number}-{version}",
        "resource": f"Resource{random.randint(1, 48):02}",
        "resourceGroup": "EMPTY" if random.random() < 0.23 else f"Group {random.randint(1, 9)}",
    }


def _local(at: datetime) -> datetime:
    """`at` with the offset of its season: summer is April to October, to the day."""
    return at.replace(tzinfo=timezone(timedelta(hours=2 if 4 <= at.month <= 10 else 1)))


def main() -> None:
    """Write events as JSON lines to standard output."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--cases", type=int, default=1434, help="how many cases (default 1434)")
    parser.add_argument("--seed", type=int, default=1, help="same seed, same events (default 1)")
    arguments = parser.parse_args()
    for event in events(arguments.cases, arguments.seed):
        sys.stdout.write(json.dumps(event, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
