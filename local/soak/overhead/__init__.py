"""The same with less work: what botocore and moto repeat for each call although it cannot come out otherwise.

Nothing here changes what a client sends or a service answers; each module says what it spares and why that is
the same, and test_overhead.py holds each beside the original. In force while a fast lab is open.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from local.soak.overhead import (
    attribute_values,
    dispatch,
    expressions,
    items,
    request_ids,
    requests,
    signing,
    user_agent,
)

PATCHES = (
    *attribute_values.PATCHES,
    *dispatch.PATCHES,
    *expressions.PATCHES,
    *items.PATCHES,
    *request_ids.PATCHES,
    *requests.PATCHES,
    *signing.PATCHES,
    *user_agent.PATCHES,
)
"""(where, name, what stands there instead)."""


@contextmanager
def spared() -> Iterator[None]:
    """All of it."""
    with ExitStack() as patches:
        for where, name, ours in PATCHES:
            patches.enter_context(mock.patch.object(where, name, ours))
        yield
