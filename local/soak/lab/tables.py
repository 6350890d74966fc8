"""DynamoDB in the process: the tables of one lab, and the calls that the functions make.

An attribute is kept as the JSON that came over the wire, and most calls neither read nor copy it. So an item
takes little memory, and a call takes no longer because there are many items or large ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from botocore.awsrequest import AWSPreparedRequest

from local import Json
from local.soak.lab.table_expressions import (
    SETS,
    Condition,
    Given,
    InvalidExpressionError,
    Row,
    Update,
    Value,
    condition,
    projection,
    update,
)

MOST_ITEM_BYTES = 400 * 1_024
MOST_KEYS = 100
MOST_BATCH_BYTES = 16 * 1_024**2
MOST_QUERY_BYTES = 1_024**2
"""DynamoDB developer guide, "Constraints", and botocore BatchGetItem and Query."""


class RefusedError(Exception):
    """DynamoDB's error."""

    def __init__(self, code: str, message: str, item: Row | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.item = item


class Table:
    """One table; its key has one attribute."""

    def __init__(self, properties: Json) -> None:
        (self.key,) = [one["AttributeName"] for one in properties["KeySchema"]]
        self.kinds = {
            one["AttributeName"]: one["AttributeType"] for one in properties["AttributeDefinitions"]
        }
        self.indexes = {one["IndexName"]: one for one in properties.get("GlobalSecondaryIndexes", ())}
        self.rows: dict[str, Row] = {}

    def items(self) -> Iterator[dict[str, Value]]:
        """Every item, as the wire has it."""
        for row in list(self.rows.values()):
            yield {name: json.loads(text) for name, text in row.items()}

    def put(self, item: Mapping[str, Value]) -> None:
        """Write an item in the place of the one with its key. Raises RefusedError."""
        self.store({name: json.dumps(value) for name, value in item.items()})

    def store(self, row: Row) -> None:
        """The same."""
        for name, kind in self.kinds.items():
            if name in row and kind not in json.loads(row[name]):
                raise _invalid(f"One or more parameter values were invalid: Type mismatch for key {name}")
        if (
            sum(map(len, row)) + sum(map(len, row.values())) > MOST_ITEM_BYTES
            and _size(row) > MOST_ITEM_BYTES
        ):
            raise _invalid("Item size has exceeded the maximum allowed size")
        self.rows[row[self.key]] = row

    def delete(self, key: Mapping[str, Value]) -> Row | None:
        """Returns what was deleted."""
        return self.rows.pop(self.place(key), None)

    def place(self, key: Mapping[str, Value]) -> str:
        """Where the item with a key is."""
        if set(key) != {self.key} or self.kinds[self.key] not in key[self.key]:
            raise _invalid("The provided key element does not match the schema")
        return json.dumps(key[self.key])


class Tables:
    """The service."""

    def __init__(self, tables: Mapping[str, Json]) -> None:
        self.tables = {name: Table(properties) for name, properties in tables.items()}

    def answer(self, operation: str, request: AWSPreparedRequest) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a call."""
        body: Any = request.body
        try:
            status, text = 200, self.call(operation, json.loads(body))
        except RefusedError as error:
            told = json.dumps({"__type": error.code, "message": str(error)})
            item = "" if error.item is None else f', "Item": {_json(error.item)}'
            status, text = 400, f"{told[:-1]}{item}}}"
        return status, {"Content-Type": "application/x-amz-json-1.0"}, text.encode()

    def call(self, operation: str, asked: Json) -> str:
        """The answer as JSON. Raises RefusedError."""
        work = getattr(self, f"_{operation.lower()}", None)
        if work is None:
            raise NotImplementedError(f"DynamoDB {operation}")
        try:
            told: str = work(asked)
        except InvalidExpressionError as error:
            raise _invalid(str(error)) from error
        return told

    def _table(self, asked: Json) -> Table:
        return self._named(asked["TableName"])

    def _named(self, name: str) -> Table:
        if name not in self.tables:
            raise RefusedError("ResourceNotFoundException", "Requested resource not found")
        return self.tables[name]

    def _getitem(self, asked: Json) -> str:
        table = self._table(asked)
        row = table.rows.get(table.place(asked["Key"]))
        wanted = _wanted(asked)
        return "{}" if row is None else f'{{"Item": {_json(_projected(row, wanted))}}}'

    def _batchgetitem(self, asked: Json) -> str:
        """What does not fit into the answer is left for the next call."""
        found: list[str] = []
        left: Json = {}
        room = MOST_BATCH_BYTES
        if sum(len(one["Keys"]) for one in asked["RequestItems"].values()) > MOST_KEYS:
            raise _invalid("Too many items requested for the BatchGetItem call")
        for name, one in asked["RequestItems"].items():
            table, wanted = self._named(name), _wanted(one)
            places = [table.place(key) for key in one["Keys"]]
            if len(set(places)) < len(places):
                raise _invalid("Provided list of item keys contains duplicates")
            texts = []
            for key, place in zip(one["Keys"], places, strict=True):
                text = _json(_projected(table.rows[place], wanted)) if place in table.rows else ""
                room -= len(text)
                if room < 0:
                    left.setdefault(name, {**one, "Keys": []})["Keys"].append(key)
                elif text:
                    texts.append(text)
            found.append(f"{json.dumps(name)}: [{', '.join(texts)}]")
        return f'{{"Responses": {{{", ".join(found)}}}, "UnprocessedKeys": {json.dumps(left)}}}'

    def _putitem(self, asked: Json) -> str:
        table, item = self._table(asked), asked["Item"]
        if table.key not in item:
            raise _invalid(
                f"One or more parameter values were invalid: Missing the key {table.key} in the item"
            )
        before = table.rows.get(table.place({table.key: item[table.key]}))
        _check_values(item)
        self._check(asked, before)
        table.put(item)
        return _answered(asked, before, item)

    def _deleteitem(self, asked: Json) -> str:
        table = self._table(asked)
        before = table.rows.get(table.place(asked["Key"]))
        self._check(asked, before)
        table.delete(asked["Key"])
        return _answered(asked, before, {})

    def _updateitem(self, asked: Json) -> str:
        table = self._table(asked)
        place, doing = table.place(asked["Key"]), update(asked["UpdateExpression"])
        before = table.rows.get(place)
        given = self._check(asked, before, doing)
        names = [given.name(name) for _, name, _, _ in doing.actions]
        if table.key in names:
            raise _invalid(f"Cannot update attribute {table.key}. This attribute is part of the key")
        if len(set(names)) < len(names):
            raise _invalid("Invalid UpdateExpression: Two document paths overlap with each other")
        after = dict(before or {table.key: place})
        for (word, _, index, read), name in zip(doing.actions, names, strict=True):
            _change(after, word, name, index, None if read is None else read(given))
        table.store(after)
        return _answered(asked, before, names, after)

    def _check(self, asked: Json, row: Row | None, doing: Update | None = None) -> Given:
        """Raises RefusedError where the condition does not hold, or what the call names is not used."""
        names, values = (asked.get(f"ExpressionAttribute{one}") or {} for one in ("Names", "Values"))
        wanted = asked.get("ConditionExpression")
        held: Condition | None = None if wanted is None else condition(wanted)
        used = (held.used if held else frozenset()) | (doing.used if doing else frozenset())
        unused = (names.keys() | values.keys()) - used
        if unused:
            raise _invalid(f"Value unused in expressions: {sorted(unused)}")
        unknown = used - names.keys() - values.keys()
        if unknown:
            raise _invalid(f"A name or value of an expression is not defined: {sorted(unknown)}")
        _check_values(values)
        given = Given(row, names, values)
        if held is not None and not held.holds(given):
            shown = row if asked.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else None
            raise RefusedError("ConditionalCheckFailedException", "The conditional request failed", shown)
        return given

    def _query(self, asked: Json) -> str:
        """Of an index: the items of one hash key, in the order of the other one."""
        table, index = self._table(asked), asked.get("IndexName")
        if index not in table.indexes:
            raise _invalid(f"The table does not have the specified index: {index}")
        by = [one["AttributeName"] for one in table.indexes[index]["KeySchema"]]
        names, values = asked.get("ExpressionAttributeNames") or {}, asked["ExpressionAttributeValues"]
        holds = condition(asked["KeyConditionExpression"]).holds
        rows = [
            row
            for row in table.rows.values()
            if all(one in row for one in by) and holds(Given(row, names, values))
        ]
        place = [*by, table.key]
        page, is_all = _page(asked, place, rows)
        shown = (*place, *table.indexes[index]["Projection"].get("NonKeyAttributes", ()))
        texts = ", ".join(_json({name: row[name] for name in shown if name in row}) for row in page)
        last = "" if is_all else f', "LastEvaluatedKey": {_json({name: page[-1][name] for name in place})}'
        return f'{{"Items": [{texts}], "Count": {len(page)}, "ScannedCount": {len(page)}{last}}}'


def _page(asked: Json, place: list[str], rows: list[Row]) -> tuple[list[Row], bool]:
    """What comes after the start, as far as one answer goes; and whether nothing can come after it."""
    forward, after = asked.get("ScanIndexForward", True), asked.get("ExclusiveStartKey")

    def at(row: Row) -> list[str]:
        return [json.loads(row[name])["S"] for name in place]

    rows = sorted(rows, key=at, reverse=not forward)
    if after is not None:
        start = [after[name]["S"] for name in place]
        rows = [row for row in rows if (at(row) > start if forward else at(row) < start)]
    page, room = [], MOST_QUERY_BYTES
    for row in rows[: asked.get("Limit")]:
        page.append(row)
        room -= sum(map(len, row.values()))
        if room < 0:
            break
    return page, len(page) == len(rows) and len(page) != asked.get("Limit")


def _change(row: Row, word: str, name: str, index: int | None, value: Value | None) -> None:
    """One action of an update."""
    if word == "REMOVE":
        if index is None:
            row.pop(name, None)
        elif name in row:
            members = json.loads(row[name])["L"]
            row[name] = json.dumps({"L": members[:index] + members[index + 1 :]})
        return
    if value is None:
        raise _invalid("The provided expression refers to an attribute that does not exist in the item")
    if word == "SET":
        row[name] = json.dumps(value)
        return
    ((kind, members),) = value.items()
    if kind not in SETS:
        raise _invalid(f"Incorrect operand type for operator or function; operator: {word}")
    before = json.loads(row[name]).get(kind, []) if name in row else []
    kept = [one for one in before if one not in members]
    left = kept if word == "DELETE" else [*before, *(one for one in members if one not in before)]
    row.pop(name, None)
    if left:
        row[name] = json.dumps({kind: left})


def _answered(asked: Json, before: Row | None, changed: Iterable[str], after: Row | None = None) -> str:
    """The attributes that ReturnValues asks for."""
    wanted = asked.get("ReturnValues", "NONE")
    row = {"NONE": None, "ALL_OLD": before, "UPDATED_OLD": before}.get(wanted, after)
    if row and wanted.startswith("UPDATED"):
        row = {name: row[name] for name in changed if name in row}
    return f'{{"Attributes": {_json(row)}}}' if row else "{}"


def _wanted(asked: Json) -> list[str]:
    """The attributes that a read asks for; none for all."""
    if "ProjectionExpression" not in asked:
        return []
    given = Given(None, asked.get("ExpressionAttributeNames") or {}, {})
    return [given.name(name) for name in projection(asked["ProjectionExpression"])]


def _projected(row: Row, names: list[str]) -> Row:
    return {name: row[name] for name in names if name in row} if names else row


def _json(row: Row) -> str:
    return "{" + ", ".join([f"{json.dumps(name)}: {text}" for name, text in row.items()]) + "}"


def _check_values(values: Mapping[str, Value]) -> None:
    for name, value in values.items():
        if any(value.get(kind) == [] for kind in SETS):
            raise _invalid(f"One or more parameter values were invalid: the set {name} may not be empty")


def _size(row: Row) -> int:
    """DynamoDB developer guide, "DynamoDB item sizes and formats"."""
    return sum(len(name.encode()) + _value_size(json.loads(text)) for name, text in row.items())


def _value_size(value: Value) -> int:
    ((kind, inner),) = value.items()
    if kind == "M":
        return 3 + sum(1 + len(name.encode()) + _value_size(one) for name, one in inner.items())
    if kind == "L":
        return 3 + sum(1 + _value_size(one) for one in inner)
    if kind in SETS:
        return sum(_value_size({kind[0]: one}) for one in inner)
    if kind == "N":
        return len(inner.strip("-0.")) // 2 + 2
    return len(inner.encode()) if kind == "S" else 1


def _invalid(message: str) -> RefusedError:
    return RefusedError("ValidationException", message)
