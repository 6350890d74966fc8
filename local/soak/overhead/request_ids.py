"""The id of a request, 52 characters.

Why: moto draws each of them for itself. Nobody looks at the id; it is as random as before, drawn at once.
"""

from __future__ import annotations

import string
from typing import Any

import moto.core.responses
from moto.moto_api._internal import mock_random

CHARACTERS = 52
_POOL = string.ascii_letters + string.digits


def _request_id(headerdict: dict[str, Any] | None = None) -> str:
    """gen_amzn_requestid_long."""
    made = "".join(mock_random.choices(_POOL, k=CHARACTERS))
    if isinstance(headerdict, dict):
        headerdict["x-amzn-requestid"] = made
    return made


PATCHES: tuple[tuple[Any, str, Any], ...] = ((moto.core.responses, "gen_amzn_requestid_long", _request_id),)
