"""EC2's filters and pages, the same for every Describe operation."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from local import Json
from local.aws.region.errors import ApiError, invalid

Item = TypeVar("Item")
Getter = Callable[[Item], Any]
MOST_FILTER_VALUES = 200
"""Of all filters of a call together (EC2 API reference, error code FilterLimitExceeded)."""
LONGEST_FILTER_VALUE = 255


def keep_matching(
    items: Iterable[Item],
    filters: Sequence[Json] | None,
    getters: Mapping[str, Getter[Item]],
    tags: Callable[[Item], Mapping[str, str]] | None = None,
) -> list[Item]:
    """The items for which every filter has one value that matches; `*` and `?` are wildcards."""
    if sum(len(one.get("Values") or ()) for one in filters or ()) > MOST_FILTER_VALUES:
        message = f"The maximum number of filter values specified on a single call is {MOST_FILTER_VALUES}"
        raise ApiError("FilterLimitExceeded", message)
    tests = [_test(one, getters, tags) for one in filters or ()]
    return [item for item in items if all(test(item) for test in tests)]


def page(
    items: Sequence[Item], params: Json, *, scope: str, low: int = 1, high: int = 1_000
) -> tuple[list[Item], str | None]:
    """The requested part of `items` and the token of the next one."""
    size = params.get("MaxResults")
    if size is not None and size < low:
        raise invalid(
            f"Value ( {size} ) for parameter maxResults is invalid. Expecting a value of at least {low}."
        )
    start = _start(params.get("NextToken"), scope)
    if size is None:
        return list(items[start:]), None
    end = start + min(size, high)
    return list(items[start:end]), _token(scope, end) if end < len(items) else None


def tag_list(tags: Mapping[str, str]) -> list[Json]:
    """Tags as EC2 lists them."""
    return [{"Key": key, "Value": value} for key, value in sorted(tags.items())]


def _test(
    one: Json, getters: Mapping[str, Getter[Item]], tags: Callable[[Item], Mapping[str, str]] | None
) -> Callable[[Item], bool]:
    name, wanted = str(one.get("Name", "")), [_pattern(value) for value in one.get("Values") or ()]
    getter = _tag_getter(name, tags) or getters.get(name)
    if getter is None:
        raise invalid(f"The filter '{name}' is invalid")

    def matches(item: Item) -> bool:
        return any(pattern.fullmatch(text) for text in _texts(getter(item)) for pattern in wanted)

    return matches


def _tag_getter(name: str, tags: Callable[[Item], Mapping[str, str]] | None) -> Getter[Item] | None:
    if tags is None:
        return None
    if name.startswith("tag:"):
        key = name.removeprefix("tag:")
        return lambda item: tags(item).get(key)
    return (lambda item: list(tags(item))) if name == "tag-key" else None


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, (list, tuple, set)):
        return [text for one in value for text in _texts(one)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, datetime):
        return [value.strftime("%Y-%m-%dT%H:%M:%S.000Z")]
    return [str(value)]


def _pattern(value: str) -> re.Pattern[str]:
    """EC2 user guide, "List and filter using the CLI and API": `?` is no character or one."""
    if len(str(value)) > LONGEST_FILTER_VALUE:
        raise invalid(f"A filter's value has at most {LONGEST_FILTER_VALUE} characters")
    parts = re.findall(r"\\.|.", str(value), re.DOTALL)
    translated = "".join({"*": ".*", "?": ".?"}.get(part) or re.escape(part[-1]) for part in parts)
    return re.compile(translated, re.DOTALL)


def _token(scope: str, start: int) -> str:
    return base64.urlsafe_b64encode(f"{scope}:{start}".encode()).decode()


def _start(token: str | None, scope: str) -> int:
    if not token:
        return 0
    try:
        named, _, start = base64.urlsafe_b64decode(token.encode()).decode().rpartition(":")
        position = int(start)
    except ValueError:
        named, position = "", 0
    if named != scope:
        raise ApiError("InvalidNextToken", "The specified NextToken is not valid.")
    return position
