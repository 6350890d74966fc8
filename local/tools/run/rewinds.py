"""`make run ARGS="--scenario rewind"`: a damaged volume goes back to its snapshot, and the rewind is undone.

Beside it the same snapshot is restored to another instance, where a new and cold volume replaces the old one.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from local import Json
from local.aws.host import Host
from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.instances import link_names
from local.tools.run import lab as labs
from local.tools.run.details import BLOCK_BYTES
from local.tools.run.lab import SOURCE_VOLUME
from local.tools.run.recording import RestoreRecord
from local.tools.run.report import write_report
from local.tools.run.story import REPORTS, Scene, Story, StoryError
from local.tools.run.watch import Watch
from rewarm.domain.units import count_text, elapsed_text, size_text

DEVICE = "/dev/sdf"
DAMAGED_SHARE = 0.05
"""Of all blocks of the volume."""
COMMAND_SECONDS, POLL_SECONDS = 600, 0.05
DAMAGE = r"""
set -e
point=$(mktemp -d)
mount -t ext4 "$DEVICE" "$point"
trap 'umount "$point"; rmdir "$point"' EXIT
cd "$point"
find . -path ./lost+found -prune -o -type f -size +64k -print | sort > /tmp/names
number=0; spoilt=0
while read -r name && [ "$spoilt" -lt "$BYTES" ]; do
    bytes=$(stat -c %s "$name")
    [ "$bytes" -lt 4000000 ] || bytes=4000000
    number=$((number + 1)); spoilt=$((spoilt + bytes))
    case $((number % 3)) in
    0) rm "$name" ;;
    1) dd if=/dev/urandom of="$name" bs="$bytes" count=1 conv=notrunc status=none ;;
    2) head -c "$bytes" "$name" | tr '\000-\377' '\200-\377\000-\177' > /tmp/other
       dd if=/tmp/other of="$name" bs="$bytes" count=1 conv=notrunc status=none ;;
    esac
done < /tmp/names
cd /
sync
echo "$number"
"""
"""Overwrites one file (4 MB at most), changes every byte of the next, deletes the third, and so on."""


class RewindStory(Story):
    """Damages a volume, rewinds it, and rewinds the rewind; all by POST /restores."""

    def tell(self, host: Host) -> Path:
        scene = self.set_up(host)
        beside = self._volumes(scene)
        inventory = host.region.inventory()
        good = self._contents(scene)
        self._damage(scene)
        damaged = self._contents(scene)
        replacing = self._replace(scene, beside)
        cold = self._played(scene, "1. Beside it: a new volume in the place of an old one", replacing)
        if cold.volume_id is not None:
            self._examine(replace(scene, instance_id=beside), cold, cold.volume_id)
        self.view.ended(cold)
        back = self._played(scene, "2. The damaged volume goes back", self._rewind(scene, scene.snapshot_id))
        self._prove(scene, back, good)
        evidence = self._evidence(scene, back)
        undone = self._played(scene, "3. The rewind is undone", self._rewind(scene, evidence))
        self._prove(scene, undone, damaged)
        self._compare(cold, back)
        self._take_stock(host, inventory)
        self.run.real_seconds = time.monotonic() - self._began
        return write_report(self.run, REPORTS)

    def _volumes(self, scene: Scene) -> str:
        """The volume that will be damaged, and one like it on another instance; that instance."""
        region, size_gib = scene.lab.host.region, scene.source.image.size_gib
        with self.view.setup_step("The volume itself, which is there and warm", self.run) as step:
            region.add_volume(
                volume_id=SOURCE_VOLUME, size_gib=size_gib, snapshot_id=scene.snapshot_id,
                attach_to=scene.instance_id, device=DEVICE, tags={"Name": "orders-database"},
            )  # fmt: skip
            beside = scene.lab.add_instance()
            region.add_volume(
                size_gib=size_gib, snapshot_id=scene.snapshot_id, attach_to=beside, device=DEVICE
            )
            step.detail = f"{SOURCE_VOLUME} at {DEVICE} of {scene.instance_id}; one like it on {beside}"
        return beside

    def _damage(self, scene: Scene) -> None:
        wanted = int(scene.source.image.size_gib * (1 << 30) * DAMAGED_SHARE)
        self.view.heading("A bad deployment")
        files = self._run(scene, DAMAGE, {"BYTES": str(wanted)}).strip()
        self.view.say(
            f"{files} files of {SOURCE_VOLUME} are overwritten, encrypted in place or deleted: about "
            f"{size_text(wanted)}, {DAMAGED_SHARE:.0%} of the volume."
        )

    def _replace(self, scene: Scene, instance_id: str) -> Json:
        """As soon as it can be had."""
        target = {"instanceId": instance_id, "device": DEVICE, "mode": "replace"}
        return {
            "source": {"snapshotId": scene.snapshot_id},
            "target": target,
            "objective": {"readyWithinMinutes": 1},
            "verify": labs.MEASURED,
        }

    def _rewind(self, scene: Scene, snapshot_id: str) -> Json:
        target = {"instanceId": scene.instance_id, "mode": "rewind"}
        return {"source": {"snapshotId": snapshot_id}, "target": target, "verify": labs.MEASURED}

    def _played(self, scene: Scene, title: str, request: Json) -> RestoreRecord:
        """By POST /restores, watched to its end."""
        lab = scene.lab
        self.view.heading(title)
        self.view.command(lab.api.curl("POST", "/restores", request))
        money, started_at = lab.host.region.money(), lab.now()
        answer = lab.api.expect(202, "POST", "/restores", request)
        record = RestoreRecord(
            title=title, trigger="POST /restores", restore_id=answer["restoreId"], request=request,
            started_at=started_at,
        )  # fmt: skip
        self.run.restores.append(record)
        Watch(lab, record, self.view).follow()
        record.page = lab.page(record.restore_id)
        self._note_machine(lab.host)
        record.metered_usd, record.metered_parts = labs.metered(money, lab.host.region.money())
        if record.volume_id is not None:
            record.read_ops = lab.reads_a_minute(record.volume_id, record.started_at)
        return record

    def _prove(self, scene: Scene, record: RestoreRecord, wanted: str) -> None:
        """The whole device, and where it is the good snapshot's, every file."""
        found = self._contents(scene)
        record.device = (found, wanted)
        if record.request["source"]["snapshotId"] == scene.snapshot_id:
            self._examine(scene, record, SOURCE_VOLUME)
        self.view.ended(record)

    def _evidence(self, scene: Scene, record: RestoreRecord) -> str:
        """The snapshot that GET /restores/{id} names as the way back."""
        told = scene.lab.restore(record.restore_id)["volumes"][0].get("rewind") or {}
        if not told.get("evidence"):
            raise StoryError(f"{record.restore_id} names no evidence: {record.cause}")
        return str(told["evidence"])

    def _compare(self, cold: RestoreRecord, back: RestoreRecord) -> None:
        if cold.full_speed_seconds is None or back.full_speed_seconds is None:
            return
        self.view.heading("Side by side")
        told = (back.payload("Rewind") or {}).get("counts") or {}
        blocks = told.get("blocks", 0)
        for record, how in (
            (cold, "a new volume, read once before it is fast"),
            (back, f"{count_text(blocks, 'block')} written, {size_text(blocks * BLOCK_BYTES)}"),
        ):
            took = elapsed_text(record.full_speed_seconds or 0)
            self.view.say(f"{record.request['target']['mode']:<9}{took:<16}USD {record.metered_usd}  {how}")
        share = back.full_speed_seconds / cold.full_speed_seconds
        self.view.say(
            f"The rewind took {share:.1f} times as long as the new volume. Most of it was the wait for the "
            "snapshot of the volume as it was, which does not grow with the volume; reading all of it does."
        )

    def _contents(self, scene: Scene) -> str:
        """The SHA-256 of the whole device."""
        return self._run(scene, 'sha256sum < "$DEVICE"', {}).split()[0]

    def _run(self, scene: Scene, script: str, environment: dict[str, str]) -> str:
        """On the instance, as its owner does."""
        host = scene.lab.host
        device = f"/dev/disk/by-id/{link_names(SOURCE_VOLUME)[0]}"
        with host.clock.busy():
            command = host.machine.run_command(
                scene.instance_id, script, environment={"DEVICE": device, **environment}
            )
            until = time.monotonic() + COMMAND_SECONDS
            while (status := command.poll()) is None and time.monotonic() < until:
                time.sleep(POLL_SECONDS)
        out, err = command.output()
        if status != 0:
            raise DataPlaneError(f"{scene.instance_id}: {err.strip()}")
        return str(out)
