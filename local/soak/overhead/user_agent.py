"""The header User-Agent of a request.

Why: botocore makes it anew for each request, character by character, and twice. It depends on the client and
on the features that the request uses.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from botocore.context import get_context
from botocore.useragent import UserAgentString

_ORIGINAL: Any = UserAgentString.to_string
_TOLD: WeakKeyDictionary[UserAgentString, dict[frozenset[str], str]] = WeakKeyDictionary()


def _to_string(self: Any) -> str:
    """UserAgentString.to_string."""
    context = get_context()
    features = frozenset(context.features if context is not None else ()) | (self._client_features or set())
    told = _TOLD.setdefault(self, {})
    if features not in told:
        told[features] = _ORIGINAL(self)
    return told[features]


PATCHES: tuple[tuple[Any, str, Any], ...] = ((UserAgentString, "to_string", _to_string),)
