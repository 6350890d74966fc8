"""What others have done to a restore's things: what it excuses, and what must not have come of it.

A volume whose tags were taken off may stay if people are told of it by name. A volume of somebody else, to
which all tags of ours were copied, must be as it was. A restore whose record was deleted may be told twice.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

from local.soak.lab.lab import FastLab

DISABLE = "aws ec2 disable-fast-snapshot-restores"


class OutsideHandsAudit:
    """Looks at a lab once its restores are over."""

    def __init__(self, lab: FastLab) -> None:
        self._lab = lab
        self._outside = lab.outside
        told = [*lab.slack, *(sent["detail"] for sent in lab.events.sent)]
        self._told = json.dumps(told, default=str)

    def findings(self, ready: list[str]) -> list[str]:
        """Returns a sentence for each thing that is amiss."""
        return [*self._copies(), *self._untagged(ready)]

    def is_copy(self, volume_id: str) -> bool:
        """Whether the volume is somebody else's, with our tags."""
        return volume_id in self._outside.copies or volume_id in self._outside.others

    def is_untagged(self, volume_id: str) -> bool:
        """Whether somebody has taken tags of ours off the volume."""
        return volume_id in self._outside.untagged

    def is_named(self, volume_id: str) -> bool:
        """Whether tags were taken off the volume, and a message says that it stays."""
        return self.is_untagged(volume_id) and f"volume {volume_id}" in self._told

    def is_told_to_stay(self, volume_id: str, restore_id: str) -> bool:
        """Whether an item of the restore was deleted, without which nothing proves whose the volume is, and a
        message names it.
        """
        return self.is_lost(restore_id) and f"volume {volume_id}" in self._told

    def is_told_boosted(self, volume_id: str) -> bool:
        """Whether tags were taken off the volume, and a message names it, or says what to lower by hand."""
        to_lower = self.is_untagged(volume_id) and f"lower {volume_id} to " in self._told
        return to_lower or self.is_named(volume_id)

    def is_announced(self, volume_id: str, by: float = math.inf) -> bool:
        """Whether a message says that the volume is at full speed, and did so by that time."""
        title = f"{volume_id} is at full speed"
        return any(sent["detail"]["title"] == title and sent["at"] <= by for sent in self._lab.events.sent)

    def went_with_its_instance(self, volume_id: str) -> bool:
        """Whether EC2 deleted the volume with an instance that somebody ended, after its message."""
        gone = self._lab.region._tables.gone_volumes.get(volume_id)
        if gone is None or volume_id in self._lab.removals.volume_ids:
            return False
        return self.is_announced(volume_id, by=gone.delete_time or 0.0)

    def is_told_marked(self, volume_id: str) -> bool:
        """Whether a message has the command that takes tags off the volume, which Rewarm may not."""
        return f"aws ec2 delete-tags --resources {volume_id}" in self._told

    def is_told_unproven(self, volume_id: str) -> bool:
        """Whether the sweeper's alarm says what to lower by hand, because the volume's record is lost."""
        return any(f"{volume_id} (unproven)" in text for text in self._lab.alarmed)

    def is_told_out_of_place(self, volume_id: str, device: str) -> bool:
        """Whether tags were taken off the volume at its device, and the sweeper's alarm says what to do."""
        said = [f"volume {volume_id}: {device} has {other} now" for other in self._outside.untagged]
        return any(one in text for one in said for text in self._lab.undelivered)

    def is_lost(self, restore_id: str) -> bool:
        """Whether an item of the restore was deleted."""
        mine = (f"restore#{restore_id}", f"restore-volume#{restore_id}#")
        return any(key.startswith(mine) for key in self._outside.lost)

    def is_alarmed(self, fast_restore: Any) -> bool:
        """Whether the sweeper's alarm tells of one whose items are gone."""
        lost = any(key.startswith(("restore-volume#", "fsr#")) for key in self._outside.lost)
        snapshot_id = str(fast_restore).partition(" ")[0].partition(":")[0]
        return lost and any(DISABLE in one and snapshot_id in one for one in self._lab.undelivered)

    def _copies(self) -> Iterator[str]:
        volumes = self._lab.region._tables.volumes
        for name, tags in self._outside.copies.items():
            volume = volumes.get(name)
            if volume is None or volume.state in ("deleting", "deleted"):
                yield f"volume {name} is somebody else's, with copied tags, and was deleted"
            elif volume.tags != tags:
                yield f"volume {name} is somebody else's, with copied tags, and has others now: {volume.tags}"
            elif volume.modifications:
                yield f"volume {name} is somebody else's, with copied tags, and was modified"

    def _untagged(self, ready: list[str]) -> Iterator[str]:
        """What is not to be found by its tags costs money all the same."""
        volumes = self._lab.region._tables.volumes
        for name in self._outside.untagged:
            volume = volumes.get(name)
            if volume is None or volume.state in ("deleting", "deleted") or name in ready:
                continue
            if not (self.is_named(name) or self.is_announced(name)) and "rewarm:failed" not in volume.tags:
                yield f"volume {name}, whose tags were taken off, stays and nobody was told"
