"""What every route does with a request's body."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from rewarm.domain.errors import InvalidRequestError
from rewarm.ports import JsonObject


def json_body(event: BaseProxyEvent) -> JsonObject:
    """The request's JSON object. Raises InvalidRequestError."""
    try:
        body: Any = json.loads(event.decoded_body or "")
    except ValueError as error:
        raise InvalidRequestError(f"is not JSON: {error}", field="request") from error
    if not isinstance(body, dict):
        raise InvalidRequestError("is not a JSON object", field="request")
    return body
