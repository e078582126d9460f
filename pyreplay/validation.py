"""The registry as the driver holds it, and validation of event data by its JSON Schemas."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jsonschema import SchemaError
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import Draft202012Validator, validator_for
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from .client import Replay
from .errors import InvalidData, InvalidRegistry, RegistryEmpty, UnknownEventType
from .records import RegistryEntry

# How many broken rules an error names.
NAMED = 20

# Compiled once in the life of the process, by the sha256 of the schema's text.
_validators: dict[bytes, Validator] = {}


@dataclass(frozen=True, slots=True)
class LoadedRegistry:
    """One registry version, and the digest that tells append_transaction which one it was."""

    registry_version: int
    digest: bytes
    entries: Mapping[tuple[str, str], RegistryEntry]


def load_registry(replay: Replay) -> LoadedRegistry:
    """Load the current registry version. Raises RegistryEmpty before the first one."""
    entries = replay.get_registry()
    if not entries:
        raise RegistryEmpty(
            "no registry version has been published, or the current one is empty",
            details={},
            hint="Publish the event types: `pyreplay publish registry --app module:projection`.",
        )
    return LoadedRegistry(
        registry_version=entries[0].registry_version,
        digest=registry_digest(entries),
        entries={(entry.event_type, entry.event_schema): entry for entry in entries},
    )


def registry_digest(entries: Sequence[RegistryEntry]) -> bytes:
    """The digest of one registry version; replay._registry_digest defines it.

    Computed here, not asked for: it proves which entries the data was validated with.
    """
    parts = [_frame("pyreplay.registry.v1"), _int4(entries[0].registry_version)]
    parts.append(_int4(len(entries)))
    for entry in sorted(entries, key=lambda e: (e.event_type.encode(), e.event_schema.encode())):
        parts += [
            _frame(entry.event_type),
            _frame(entry.event_schema),
            _frame(entry.policy),
            _frame(entry.data_schema),
            _frame(entry.repair_disposition),
            _frame(entry.repair_schema_version),
            _frame(entry.side_effects),
        ]
    return hashlib.sha256(b"".join(parts)).digest()


def check_schema(text: str) -> None:
    """Check a JSON Schema that is to be published. Raises InvalidRegistry."""
    try:
        _compile(text)
    except (ValueError, SchemaError, RecursionError) as error:
        where = list(error.absolute_path) if isinstance(error, SchemaError) else []
        raise InvalidRegistry(
            f"a data schema is no JSON Schema, at {_pointer(where) or 'its top'}",
            details={"pointer": _pointer(where)},
            hint="Correct the schema; nothing was published.",
        ) from None


def validate(registry: LoadedRegistry, events: Sequence[Mapping[str, Any]]) -> None:
    """Validate the data of one transaction's events, in the order of their ordinals.

    Raises UnknownEventType, InvalidData; they name places and rules, never values.
    """
    for ordinal, event in enumerate(events):
        name = (event.get("type"), event.get("eventschema"))
        entry = registry.entries.get(name) if _is_name(name) else None  # type: ignore[arg-type]
        if entry is None:
            raise UnknownEventType(
                f"event {ordinal} is of a type and schema that the registry does not know",
                details={"ordinal": ordinal},
                hint="Publish it with publish_registry, or correct the event.",
            )
        broken = _broken_rules(entry, event)
        if broken:
            pointer, rule = broken[0]
            raise InvalidData(
                f'event {ordinal} breaks rule "{rule}" at {pointer}',
                details={
                    "ordinal": ordinal,
                    "event_type": entry.event_type,
                    "event_schema": entry.event_schema,
                    "broken": [{"pointer": at, "rule": rule} for at, rule in broken],
                },
                hint="Correct the data, or publish a schema that allows it.",
            )


def _is_name(name: tuple[Any, Any]) -> bool:
    return isinstance(name[0], str) and isinstance(name[1], str)


def _broken_rules(entry: RegistryEntry, event: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The first places that break a rule, and the rule's keyword."""
    if "data" not in event:
        return [("/data", "required")]
    if entry.data_schema is None:
        return [] if isinstance(event["data"], dict) else [("/data", "type")]
    try:
        found = list(_validator(entry.data_schema).iter_errors(event["data"]))
    except OverflowError:
        # A number beyond what a rule can divide.
        return [("/data", "multipleOf")]
    except (Unresolvable, SchemaError, ValueError, RecursionError):
        raise InvalidRegistry(
            "the data schema of an entry is none, refers to itself without end or to something "
            "outside of it",
            details={"event_type": entry.event_type, "event_schema": entry.event_schema},
            hint="Publish a JSON Schema that holds all it refers to.",
        ) from None
    return sorted(map(_broken_rule, found))[:NAMED]


def _broken_rule(error: ValidationError) -> tuple[str, str]:
    return _pointer(["data", *error.absolute_path]), str(error.validator)


def _pointer(path: Sequence[Any]) -> str:
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def _validator(text: str) -> Validator:
    digest = hashlib.sha256(text.encode()).digest()
    if digest not in _validators:
        _validators[digest] = _compile(text)
    return _validators[digest]


def _compile(text: str) -> Validator:
    schema = json.loads(text)
    kind = validator_for(schema, default=Draft202012Validator)
    kind.check_schema(schema)
    # With a registry of its own it never fetches a reference from the network.
    return kind(schema, registry=EMPTY_REGISTRY)


def _frame(text: str | None) -> bytes:
    if text is None:
        return _int4(-1)
    return _int4(len(text.encode())) + text.encode()


def _int4(number: int) -> bytes:
    return number.to_bytes(4, "big", signed=True)
