"""Paths of the API with names from outside in them, encoded as Signature Version 4 wants it.

A blank is `%20` in a path and in a query. As `+`, the form of HTML's forms, it breaks the signature (IAM user
guide, "Create a signed AWS API request": every byte but letters, digits and `-._~`).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode


def address(*segments: str, **query: Any) -> str:
    """`/a/b?c=d`; a value that is None is left out."""
    path = "".join(f"/{quote(segment, safe='')}" for segment in segments)
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{urlencode(given, quote_via=quote, safe='')}" if given else path
