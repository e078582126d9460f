"""The configuration of an API portal: one projection, all three ways of ordering.

A configuration and its properties are a graph with one revision (GRAPH_ROOT). Reference tables and
relations are aggregates (AGGREGATE_VERSION). Reference values come in no order, each together with
its label in one transaction (TRANSACTION_ONLY).
"""

from typing import Any

from psycopg import Cursor, sql

from pyreplay.projection import Event, Projection

projection = Projection("portal")


def fields(texts: str, flags: str = "", integers: str = "") -> dict[str, Any]:
    """The JSON Schema of an object that has these fields; it may have others."""
    kinds = {"string": texts.split(), "boolean": flags.split(), "integer": integers.split()}
    types = {name: {"type": kind} for kind, names in kinds.items() for name in names}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": list(types),
        "properties": types,
    }


CONFIG = fields("configId configName configType configPhase configDesc")
PROPERTY = fields(
    "propertyId configId propertyName propertyType valueType", integers="displayOrder"
)
TABLE = fields("tableId tableName tableDesc", flags="editable active")
RELATION_TYPE = fields("relationId relationName relationDesc")
RELATION = fields("relationId valueIdFrom valueIdTo", flags="active")
VALUE = fields("valueId tableId valueCode", flags="active", integers="displayOrder")
LOCALE = fields("valueId language valueLabel")


@projection.handles("ConfigCreatedEvent", policy="GRAPH_ROOT", data_schema=CONFIG)
def create_config(cursor: Cursor, event: Event) -> None:
    """Keep a configuration."""
    insert(
        cursor,
        "config",
        host_id=event.host_id,
        config_id=event.data["configId"],
        config_name=event.data["configName"],
        config_type=event.data["configType"],
        config_phase=event.data["configPhase"],
        class_path=event.data.get("classPath"),
        config_desc=event.data["configDesc"],
        revision=event.graph_revision,
    )


@projection.handles("ConfigPropertyCreatedEvent", policy="GRAPH_ROOT", data_schema=PROPERTY)
def create_property(cursor: Cursor, event: Event) -> None:
    """Keep a property."""
    insert(
        cursor,
        "config_property",
        host_id=event.host_id,
        property_id=event.data["propertyId"],
        config_id=event.data["configId"],
        property_name=event.data["propertyName"],
        property_type=event.data["propertyType"],
        property_value=event.data.get("propertyValue"),
        value_type=event.data["valueType"],
        display_order=event.data["displayOrder"],
        version=event.aggregate_version,
        deleted=False,
    )
    move_revision(cursor, event)


@projection.handles("ConfigPropertyUpdatedEvent", policy="GRAPH_ROOT", data_schema=PROPERTY)
def update_property(cursor: Cursor, event: Event) -> None:
    """Give a property its new value."""
    change_property(
        cursor,
        event,
        property_value=event.data.get("propertyValue"),
        value_type=event.data["valueType"],
        display_order=event.data["displayOrder"],
    )


@projection.handles("ConfigPropertyDeletedEvent", policy="GRAPH_ROOT", data_schema=PROPERTY)
def delete_property(cursor: Cursor, event: Event) -> None:
    """Mark a property as deleted."""
    change_property(cursor, event, deleted=True)


@projection.handles("RefTableCreatedEvent", policy="AGGREGATE_VERSION", data_schema=TABLE)
def create_ref_table(cursor: Cursor, event: Event) -> None:
    """Keep a table of reference values."""
    insert(
        cursor,
        "ref_table",
        host_id=event.host_id,
        table_id=event.data["tableId"],
        table_name=event.data["tableName"],
        table_desc=event.data["tableDesc"],
        editable=event.data["editable"],
        active=event.data["active"],
    )


@projection.handles(
    "RefRelationTypeCreatedEvent", policy="AGGREGATE_VERSION", data_schema=RELATION_TYPE
)
def create_ref_relation_type(cursor: Cursor, event: Event) -> None:
    """Keep a kind of relation."""
    insert(
        cursor,
        "ref_relation_type",
        host_id=event.host_id,
        relation_id=event.data["relationId"],
        relation_name=event.data["relationName"],
        relation_desc=event.data["relationDesc"],
    )


@projection.handles("RefRelationCreatedEvent", policy="AGGREGATE_VERSION", data_schema=RELATION)
def create_ref_relation(cursor: Cursor, event: Event) -> None:
    """Keep a relation of two values."""
    insert(
        cursor,
        "ref_relation",
        host_id=event.host_id,
        relation_id=event.data["relationId"],
        value_id_from=event.data["valueIdFrom"],
        value_id_to=event.data["valueIdTo"],
        active=event.data["active"],
    )


@projection.handles("RefValueCreatedEvent", policy="TRANSACTION_ONLY", data_schema=VALUE)
def create_ref_value(cursor: Cursor, event: Event) -> None:
    """Keep a reference value."""
    insert(
        cursor,
        "ref_value",
        host_id=event.host_id,
        value_id=event.data["valueId"],
        table_id=event.data["tableId"],
        value_code=event.data["valueCode"],
        value_desc=event.data.get("valueDesc"),
        display_order=event.data["displayOrder"],
        active=event.data["active"],
    )


@projection.handles("RefLocaleCreatedEvent", policy="TRANSACTION_ONLY", data_schema=LOCALE)
def create_ref_locale(cursor: Cursor, event: Event) -> None:
    """Keep the label of a reference value."""
    insert(
        cursor,
        "ref_locale",
        host_id=event.host_id,
        value_id=event.data["valueId"],
        language=event.data["language"],
        value_label=event.data["valueLabel"],
    )


def insert(cursor: Cursor, table: str, **row: object) -> None:
    """Insert a row unless it is there."""
    statement = "insert into portal.{} ({}) values ({}) on conflict do nothing"
    names = sql.SQL(", ").join(map(sql.Identifier, row))
    values = sql.SQL(", ").join(map(sql.Placeholder, row))
    cursor.execute(sql.SQL(statement).format(sql.Identifier(table), names, values), row)


def change_property(cursor: Cursor, event: Event, **changes: object) -> None:
    """Change a property, unless it is at this version or a later one."""
    statement = """update portal.config_property set ({}) = row({})
      where host_id = %(host_id)s and property_id = %(property_id)s and version < %(version)s"""
    changes["version"] = event.aggregate_version
    names = sql.SQL(", ").join(map(sql.Identifier, changes))
    values = sql.SQL(", ").join(map(sql.Placeholder, changes))
    key = {"host_id": event.host_id, "property_id": event.subject}
    cursor.execute(sql.SQL(statement).format(names, values), changes | key)
    move_revision(cursor, event)


def move_revision(cursor: Cursor, event: Event) -> None:
    """Note in the graph's root that it has come to the revision of the event."""
    cursor.execute(
        """update portal.config set revision = %s
           where host_id = %s and config_id = %s and revision < %s""",
        (event.graph_revision, event.host_id, event.graph_root, event.graph_revision),
    )
