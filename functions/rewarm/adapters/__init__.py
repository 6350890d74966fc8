"""The ports on AWS. A module is imported when it is asked for: a cold start needs few of them."""

# ruff: noqa: F401, I001 - for mypy, to which the modules are attributes
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewarm.adapters import artifacts, executions, fast_restores, hooks, instances, performance, prices
    from rewarm.adapters import quotas, snapshots, volumes
    from rewarm.adapters.blocks import block_reads, changed_blocks, packs, snapshot_blocks
    from rewarm.adapters.channels import messages, slack, slack_bot, slack_requests
    from rewarm.adapters.table import adoptions, history, holds, page_links, restores
else:
    _ROOMS = {
        "blocks": {"block_reads", "changed_blocks", "packs", "snapshot_blocks"},
        "channels": {"messages", "slack", "slack_bot", "slack_requests"},
        "table": {"adoptions", "history", "holds", "page_links", "restores"},
    }

    def __getattr__(name: str) -> Any:
        """The module of this name, in whichever room it is."""
        room = "".join(f"{room}." for room, modules in _ROOMS.items() if name in modules)
        try:
            return import_module(f"{__name__}.{room}{name}")
        except ModuleNotFoundError as error:
            raise AttributeError(name) from error
