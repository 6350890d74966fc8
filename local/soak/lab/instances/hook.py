"""What brings an application back, as steps in virtual time: Rewarm's document, and one of the user's.

A script that starts no agent is the user's.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from local.soak.lab.scheduler import Future
from rewarm.domain.ready.agent_output import AgentExit

if TYPE_CHECKING:
    from local.soak.lab.instances.agent import Trouble
    from local.soak.lab.instances.data_plane import MemoryDataPlane

Steps = Generator[Future, Any, Any]
End = Callable[[int, str, str], None]
HOOK = "hook"
"""The action that a trouble of a mount or a health check names; that of the user's document is DOCUMENT."""
DOCUMENT = "document"
AGAIN = "start-orders-again"
"""The name of the user's document that may run twice for one restore."""
DOCUMENT_SECONDS, TRY_SECONDS = 20, 5
LONG_OUTPUT = "line of a log\n" * 200_000
_VALUES = re.compile(r"^action='(\w+)' url='([^']*)' check='([^']*)' limit='(\d+)'$", re.MULTILINE)
_AGENT = re.compile(r"^set -- '([^']*)' '([^']*)' \S+ '--volume=([^']*)'$", re.MULTILINE)
_PATH = re.compile(r"'--path=([^']*)'")


@dataclass
class Applications:
    """What runs on the instances, for auditors."""

    documents: Counter[str] = field(default_factory=Counter)
    """How often the user's document began on each instance."""
    answers: bool = True
    """Whether an application answers once its document has run."""


def is_hook(script: str) -> bool:
    """Whether a script is that of HookDocument."""
    return _VALUES.search(script) is not None


def run_hook(
    data_plane: MemoryDataPlane, instance_id: str, script: str, end: End, trouble: Trouble | None
) -> Steps:
    """Mounts or unmounts a volume, or waits until the application answers."""
    values, agent, path = _VALUES.search(script), _AGENT.search(script), _PATH.search(script)
    assert values is not None
    assert agent is not None
    assert path is not None
    action, url, check, limit = values.groups()
    address, sha256, volume_id = agent.groups()
    yield data_plane.scheduler.sleep(2)
    if trouble is not None:
        yield from _befallen(data_plane, instance_id, trouble, end)
    elif action == "check":
        yield from _check(data_plane, url or check, int(limit), end)
    elif hashlib.sha256(data_plane.store.get(address) or b"").hexdigest() != sha256:
        end(AgentExit.NO_TRANSFER, "", "rewarm: could not download the warm-up agent")
    elif action == "mount":
        _mount(data_plane, instance_id, volume_id, path[1] or "/data", end)
    else:
        data_plane.mounted.pop(volume_id, None)
        end(0, "it is unmounted\n", "")


def run_document(data_plane: MemoryDataPlane, instance_id: str, end: End, trouble: Trouble | None) -> Steps:
    """The user's own document."""
    data_plane.applications.documents[instance_id] += 1
    yield data_plane.scheduler.sleep(DOCUMENT_SECONDS)
    if trouble is not None:
        yield from _befallen(data_plane, instance_id, trouble, end)
    else:
        end(0, "the application is started\n", "")


def _befallen(data_plane: MemoryDataPlane, instance_id: str, trouble: Trouble, end: End) -> Steps:
    if trouble.call is not None:
        there = [name for name, one in data_plane.volumes.items() if instance_id in one.attached_to]
        data_plane.scheduler.after(0, lambda: trouble.call and trouble.call(instance_id, there[-1]))
        yield data_plane.scheduler.sleep(DOCUMENT_SECONDS)
        end(0, "", "")
    elif trouble.kind == "hangs":
        yield Future()
    elif trouble.kind == "long-output":
        end(0, LONG_OUTPUT, LONG_OUTPUT)
    else:
        end(1, "", "it failed\n")


def _mount(data_plane: MemoryDataPlane, instance_id: str, volume_id: str, path: str, end: End) -> None:
    volume = data_plane.volumes.get(volume_id)
    if volume is None or instance_id not in volume.attached_to:
        end(AgentExit.NO_DEVICE, "", f"warmer: no disk of {volume_id} after 60 s")
        return
    data_plane.mounted.setdefault(volume_id, []).append(path)
    end(0, f"it is mounted at {path}\n", "")


def _check(data_plane: MemoryDataPlane, asked: str, limit: int, end: End) -> Steps:
    if data_plane.applications.answers:
        end(0, f"{asked} answered 200\n", "")
        return
    yield data_plane.scheduler.sleep(max(TRY_SECONDS, limit - TRY_SECONDS))
    end(1, "", f"rewarm: {asked} answered 503, for {limit} s")
