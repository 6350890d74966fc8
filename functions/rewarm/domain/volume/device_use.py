"""What an instance says of a volume's device: mounted, otherwise in use, or free to be detached."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

MOST_SHOWN = 5
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class DeviceUse:
    """Where its file systems are mounted, and what else uses it and cannot simply be unmounted."""

    mounts: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def is_free(self) -> bool:
        """Nothing would lose data, and a detachment would not hang."""
        return not self.mounts and not self.others

    @property
    def is_open_only(self) -> bool:
        """Processes that have the device itself open, and nothing else: they may be about to end."""
        return not self.mounts and all(other.startswith("process ") for other in self.others)

    @property
    def in_words(self) -> str:
        """For the end of a sentence that begins with the volume."""
        mounted = [f"mounted at {_listed(self.mounts)}"] if self.mounts else []
        other = [f"used by {_listed(self.others)}"] if self.others else []
        return " and ".join([*mounted, *other]) or "not in use"


def device_use(stdout: str) -> DeviceUse | None:
    """From the JSON line of the document; None where there is none."""
    for line in reversed(stdout.splitlines()):
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if isinstance(told, dict) and told.get("event") == "use":
            return DeviceUse(
                _texts(told.get("mounts"), decode=True), _texts(told.get("others"), decode=False)
            )
    return None


def _texts(value: object, *, decode: bool) -> tuple[str, ...]:
    """PowerShell may write a list of one as its item; Linux writes a blank in a mount point in octal."""
    items = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    return tuple(_plain(str(item)) if decode else str(item) for item in items)


def _plain(point: str) -> str:
    """Only blank, tab, line feed and backslash are written in octal (proc(5))."""
    return _OCTAL.sub(lambda found: chr(int(found[1], 8)), point)


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:MOST_SHOWN])
    return shown if len(names) <= MOST_SHOWN else f"{shown} and {len(names) - MOST_SHOWN} more"
