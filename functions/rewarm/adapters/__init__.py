"""The ports on AWS. A module is imported when it is asked for: a cold start needs few of them."""

# ruff: noqa: F401, I001 - for mypy, to which the modules are attributes
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewarm.adapters import artifacts, block_reads, changed_blocks, executions, fast_restores
    from rewarm.adapters import history, holds, instances, messages, packs, page_links, performance, prices
    from rewarm.adapters import quotas, restores, slack, slack_bot, slack_requests, snapshot_blocks, snapshots
    from rewarm.adapters import volumes
else:

    def __getattr__(name: str) -> Any:
        """The module of this name."""
        try:
            return import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(name) from error
