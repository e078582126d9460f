"""What an application declares: a projection, its handlers, and the events they get."""

import importlib
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql

Handler = Callable[[psycopg.Cursor[Any], "Event"], object]


class SafeError(Exception):
    """Raised by a handler to say why it failed, in words that quote no payload.

    Its text, up to 1,000 characters, is the only error text the engine keeps.
    """


class HandlerMissing(Exception):
    """A projection met an event type it neither handles nor ignores."""


class Event:
    """One member of a transaction, as a handler gets it: exact bytes, parsed on demand."""

    def __init__(self, host_id: UUID, transaction_id: str, payload: bytes) -> None:
        self.host_id = host_id
        self.transaction_id = transaction_id
        self.payload = payload
        self._attributes: dict[str, Any] | None = None

    @property
    def attributes(self) -> dict[str, Any]:
        """The whole CloudEvent; handlers must not change it."""
        if self._attributes is None:
            self._attributes = json.loads(self.payload.decode())
        return self._attributes

    @property
    def id(self) -> str:
        return str(self.attributes["id"])

    @property
    def type(self) -> str:
        return str(self.attributes["type"])

    @property
    def subject(self) -> str | None:
        return self.attributes.get("subject")

    @property
    def time(self) -> str | None:
        """RFC 3339, as it was sent."""
        return self.attributes.get("time")

    @property
    def aggregate_version(self) -> int | None:
        return self.attributes.get("aggregateversion")

    @property
    def graph_root(self) -> str | None:
        return self.attributes.get("graphroot")

    @property
    def graph_revision(self) -> int | None:
        return self.attributes.get("graphrevision")

    @property
    def data(self) -> Any:
        return self.attributes["data"]


@dataclass(frozen=True, slots=True)
class Registration:
    """An event type as the registry has it, and what this projection does with it."""

    entry: dict[str, Any]
    handler: Handler | None


class Projection:
    """A read model and its consumer group: which handler runs for which event.

    Handlers may run several times for one commit. They keep no state outside the database, open
    no transaction of their own and append nothing.
    """

    def __init__(self, name: str, consumer_group: str = "default") -> None:
        self.name = name
        self.consumer_group = consumer_group
        self._registrations: dict[tuple[str, str], Registration] = {}

    def handles(
        self, event_type: str, *, event_schema: str = "1", **entry: Any
    ) -> Callable[[Handler], Handler]:
        """Register the decorated function for one event type; `entry` as for `declare`."""

        def register(handler: Handler) -> Handler:
            self.declare(event_type, handler, event_schema=event_schema, **entry)
            return handler

        return register

    def ignore(self, *event_types: str, event_schema: str = "1", **entry: Any) -> None:
        """Let events of these types move progress without a handler."""
        for event_type in event_types:
            self.declare(event_type, None, event_schema=event_schema, **entry)

    def declare(
        self,
        event_type: str,
        handler: Handler | None,
        *,
        event_schema: str = "1",
        policy: str = "AGGREGATE_VERSION",
        data_schema: dict[str, Any] | None = None,
        repair_disposition: str = "FIX_AND_EXACT_REPLAY_ONLY",
        repair_schema_version: str | None = None,
        side_effects: str = "NONE",
    ) -> None:
        """Register a handler, or None to ignore, for one (event type, event schema).

        data_schema: a JSON Schema of the event's data; None: any JSON object. The other words are
        those of the registry, see replay.registry_entry.
        Raises ValueError when the event type is declared already, or the handler is a generator
        function or a coroutine function, whose call would run nothing.
        """
        key = (event_type, event_schema)
        if key in self._registrations:
            raise ValueError(f"{event_type} (schema {event_schema}) is declared twice")
        if inspect.isgeneratorfunction(handler) or inspect.iscoroutinefunction(handler):
            raise ValueError(f"the handler of {event_type} must be a plain function")
        schema = None if data_schema is None else json.dumps(data_schema, sort_keys=True)
        entry = {
            "event_type": event_type,
            "event_schema": event_schema,
            "policy": policy,
            "data_schema": schema,
            "repair_disposition": repair_disposition,
            "repair_schema_version": repair_schema_version,
            "side_effects": side_effects,
        }
        self._registrations[key] = Registration(entry, handler)

    def entries(self) -> list[dict[str, Any]]:
        """What publish_registry takes for this application."""
        return [r.entry for r in self._registrations.values()]

    def functions(self) -> list[dict[str, str | None]] | None:
        """What run_batch takes for this application; None when a handler is not of the database."""
        handlers = [(key, r.handler) for key, r in self._registrations.items()]
        if not all(handler is None or isinstance(handler, sql_handler) for _, handler in handlers):
            return None
        return [
            {
                "event_type": event_type,
                "event_schema": event_schema,
                "function": getattr(handler, "function", None),
            }
            for (event_type, event_schema), handler in handlers
        ]

    def handler(self, event_type: str, event_schema: str) -> Handler | None:
        """The handler of an event, None when it is ignored.

        Raises HandlerMissing when it is neither handled nor ignored.
        """
        registration = self._registrations.get((event_type, event_schema))
        if registration is None:
            raise HandlerMissing(f"no handler for {event_type} (schema {event_schema})")
        return registration.handler


class sql_handler:
    """A handler that calls `function(host_id uuid, event jsonb)` in the database.

    A projection that has no others is run there, a whole batch in one call.
    """

    def __init__(self, function: str) -> None:
        self.function = function
        name = sql.Identifier(*function.split("."))
        self._query = sql.SQL("select {}(%s, %s::jsonb)").format(name).as_bytes()

    def __call__(self, cursor: psycopg.Cursor[Any], event: Event) -> None:
        cursor.execute(self._query, (event.host_id, event.payload.decode()))


def load_app(path: str) -> Projection:
    """The projection that `module:attribute` names.

    Raises ValueError, with the next step, when there is none.
    """
    module_name, _, attribute = path.partition(":")
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise ValueError(f"no module {error.name!r}; run from the folder that holds it") from error
    names: Iterable[str] = attribute.split(".") if attribute else ()
    for name in names:
        found = getattr(found, name, None)
    if not isinstance(found, Projection):
        raise ValueError(f"{path!r} is no pyreplay.projection.Projection; write module:attribute")
    return found
