"""What every route does with a request's body."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.units import shown
from rewarm.ports import JsonObject


def json_body(event: BaseProxyEvent) -> JsonObject:
    """The request's JSON object. Raises InvalidRequestError."""
    try:
        text = event.decoded_body or ""
        if not text.strip():
            raise InvalidRequestError("is empty; send a JSON object", field="request")
        body: Any = json.loads(text)
    except ValueError as error:
        raise InvalidRequestError(f"is not JSON: {error}", field="request") from error
    except RecursionError as error:
        raise InvalidRequestError("is nested too deeply", field="request") from error
    if not isinstance(body, dict):
        raise InvalidRequestError(f"found {shown(body)}; allowed is a JSON object", field="request")
    return body


def preferred(accept: str | None, offered: Sequence[str]) -> str | None:
    """The offered type with the highest weight, the first of equals; None where the header allows none."""
    ranges = [_range(part) for part in (accept or "").split(",") if part.strip()]
    if not ranges:
        return offered[0]
    weights = [_weight(offer, ranges) for offer in offered]
    best = max(weights)
    return offered[weights.index(best)] if best > 0 else None


def _range(part: str) -> tuple[str, float]:
    """`image/*;q=0.5` as (`image/*`, 0.5); a weight that is no number counts as none given."""
    name, *parameters = (word.strip().lower() for word in part.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, min(1.0, max(0.0, float(value)))
            except ValueError:
                return name, 1.0
    return name, 1.0


def _weight(offer: str, ranges: Sequence[tuple[str, float]]) -> float:
    """By the most specific range that fits; 0 where none does."""
    for pattern in (offer, f"{offer.partition('/')[0]}/*", "*/*"):
        for name, weight in ranges:
            if name == pattern:
                return weight
    return 0.0
