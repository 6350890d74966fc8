"""`make run ARGS="--scenario rewind"`: a damaged volume goes back to its snapshot, and the rewind is undone.

That is done twice: with a snapshot of the volume as it was, and with an undo log. Beside it the same snapshot
is restored to another instance, where a new and cold volume replaces the old one.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from local import Json
from local.aws.host import Host
from local.aws.machines.dataplane import DataPlaneError, SnapshotImage
from local.aws.machines.instances import link_names
from local.tools.run import lab as labs
from local.tools.run.lab import SOURCE_VOLUME
from local.tools.run.live.details import BLOCK_BYTES
from local.tools.run.recording import RestoreRecord
from local.tools.run.report import write_report
from local.tools.run.story import REPORTS, Scene, Story, StoryError
from local.tools.run.verdict import strategy
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
WRITE_AS_IT_IS = """
dd if="$DEVICE" of=/tmp/page bs=4k count=1 iflag=direct status=none
dd if=/tmp/page of="$DEVICE" bs=4k count=1 oflag=direct conv=notrunc status=none
"""
"""An application's write, which changes nothing."""
PIECE_BYTES = 64 << 20
READ_PIECE = (
    'dd if="$DEVICE" bs=4M iflag=direct,skip_bytes,count_bytes skip="$0" count="$1" status=none | sha256sum'
)
READ_PIECES = f"""printf '%s' "$PIECES" | xargs -P 4 -L 1 sh -c 'echo "$0 $({READ_PIECE})"'"""
"""As fast as the volume is: several readers at once."""


@dataclass(frozen=True)
class Way:
    """What keeps the volume as it was, and how what differs is found."""

    evidence: str
    compare: str
    kept: str
    named: str
    """The field of the rewind's record that names the way back."""


WAYS = (
    Way("snapshot", "snapshots", "with a snapshot", "evidence"),
    Way("undo-log", "device", "with an undo log", "undoLog"),
)


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
        proving = self._prove_new(replace(scene, instance_id=beside), cold)
        by_snapshot, by_log = (self._there_and_back(scene, way, good, damaged) for way in WAYS)
        self._compare(cold, proving, by_snapshot, by_log)
        self._take_stock(scene, inventory)
        self.run.real_seconds = time.monotonic() - self._began
        return write_report(self.run, REPORTS)

    def _there_and_back(self, scene: Scene, way: Way, good: str, damaged: str) -> list[RestoreRecord]:
        """The rewind and the one that undoes it; the device is as it was before."""
        numbers = iter(range(2 * WAYS.index(way) + 2, 99))
        title = f"{next(numbers)}. The damaged volume goes back, {way.kept}"
        # A volume that nobody has written to since a rewind goes back sooner, as the undoing below shows.
        self._run(scene, WRITE_AS_IT_IS, {})
        back = self._played(scene, title, self._rewind(scene, {"snapshotId": scene.snapshot_id}, way))
        self._prove(scene, back, good)
        undoing = self._rewind(scene, self._undoing(scene, back, way), way)
        undone = self._played(scene, f"{next(numbers)}. That rewind is undone", undoing)
        self._prove(scene, undone, damaged)
        return [back, undone]

    def _volumes(self, scene: Scene) -> str:
        """The volume that will be damaged, and one like it on another instance; that instance."""
        region, speed = scene.lab.host.region, self.options.throughput
        both = {
            "size_gib": scene.source.image.size_gib, "throughput_mib_s": speed,
            "snapshot_id": scene.snapshot_id, "device": DEVICE,
        }  # fmt: skip
        with self.view.setup_step("The volume itself, which is there and warm", self.run) as step:
            region.add_volume(
                volume_id=SOURCE_VOLUME, attach_to=scene.instance_id, tags={"Name": "orders-database"}, **both
            )
            beside = scene.lab.add_instance()
            region.add_volume(attach_to=beside, **both)
            step.detail = (
                f"{SOURCE_VOLUME} at {DEVICE} of {scene.instance_id}; one like it on {beside}; "
                f"gp3 of {speed} MiB/s"
            )
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
            "volume": {"throughputMibS": self.options.throughput},
            "objective": {"strategy": self.options.strategy, "readyWithinMinutes": 1},
            "verify": labs.MEASURED,
        }

    def _rewind(self, scene: Scene, source: Json, way: Way) -> Json:
        target = {
            "instanceId": scene.instance_id, "mode": "rewind", "evidence": way.evidence,
            "compare": way.compare,
        }  # fmt: skip
        return {"source": source, "target": target, "verify": labs.MEASURED}

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

    def _prove_new(self, scene: Scene, record: RestoreRecord) -> float:
        """Reads every block of the new volume, as a rewind does; the seconds. Raises StoryError."""
        if record.volume_id is not None:
            self._examine(scene, record, record.volume_id)
        self.view.ended(record)
        if record.volume_id is None or record.full_speed_seconds is None:
            return 0.0
        pieces = list(_pieces(scene.source.image))
        lines = "".join(f"{offset} {length}\n" for offset, length, _ in pieces)
        began = scene.lab.now()
        found = self._run(scene, READ_PIECES, {"PIECES": lines}, record.volume_id)
        seconds = scene.lab.now() - began
        read = sorted((int(line.split()[0]), line.split()[1]) for line in found.splitlines())
        if read != [(offset, sha256) for offset, _, sha256 in pieces]:
            raise StoryError(f"blocks of {record.volume_id} differ from those of {scene.snapshot_id}")
        return seconds

    def _prove(self, scene: Scene, record: RestoreRecord, wanted: str) -> None:
        """The whole device, and where it is the good snapshot's, every file."""
        found = self._contents(scene)
        record.device = (found, wanted)
        if record.request["source"].get("snapshotId") == scene.snapshot_id:
            self._examine(scene, record, SOURCE_VOLUME)
        self.view.ended(record)

    def _undoing(self, scene: Scene, record: RestoreRecord, way: Way) -> Json:
        """What undoes the rewind, as GET /restores/{id} names it."""
        told = scene.lab.restore(record.restore_id)["volumes"][0].get("rewind") or {}
        if not told.get(way.named):
            raise StoryError(f"{record.restore_id} names no way back: {record.cause}")
        if way.evidence == "undo-log":
            return {"undoOf": record.restore_id}
        return {"snapshotId": str(told[way.named])}

    def _compare(self, cold: RestoreRecord, proving: float, *ways: list[RestoreRecord]) -> None:
        """Until full speed; of the new volume until every block is read as well, and has its SHA-256."""
        records = [cold, *(record for way in ways for record in way)]
        if any(record.full_speed_seconds is None for record in records):
            return
        self.view.heading(f"Side by side, on volumes of {self.options.throughput} MiB/s")
        took = cold.full_speed_seconds or 0.0
        proven = took + proving
        self._row("replace", took, f"USD {cold.metered_usd}  {strategy(cold)}, a new volume")
        self._row("", proven, "and every block of it read, so that it has the proof of a rewind")
        for way, found in zip(WAYS, ways, strict=True):
            for name, record in zip(("rewind", "undo"), found, strict=True):
                how = f"USD {record.metered_usd}  {way.kept}: {_written(record)}; {_parts(record)}"
                self._row(name, record.full_speed_seconds or 0.0, how)
        for way, (back, _) in zip(WAYS, ways, strict=True):
            times = proven / (back.full_speed_seconds or 1.0)
            self.view.say(
                f"With the same proof the new volume took {times:.1f} times as long as the rewind {way.kept}."
            )
        self.view.say(
            "AWS's snapshot of the volume as it was is pending for a time that grows with what has changed. "
            "The undo log needs none, but the rewind reads every block of the volume. Where nobody has "
            "written since, undoing reads and writes just the blocks that the rewind had written. A new "
            "volume's time grows with all of its data."
        )

    def _row(self, name: str, seconds: float, how: str) -> None:
        self.view.say(f"{name:<9}{elapsed_text(seconds):<16}{how}")

    def _contents(self, scene: Scene) -> str:
        """The SHA-256 of the whole device."""
        return self._run(scene, 'openssl dgst -sha256 -r < "$DEVICE"', {}).split()[0]

    def _run(
        self, scene: Scene, script: str, environment: dict[str, str], volume_id: str = SOURCE_VOLUME
    ) -> str:
        """On the instance, as its owner does."""
        host = scene.lab.host
        device = f"/dev/disk/by-id/{link_names(volume_id)[0]}"
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


def _written(record: RestoreRecord) -> str:
    """What the agent wrote, by its own account."""
    told = (record.payload("Rewind") or {}).get("initialization") or {}
    account = (told.get("signals") or {}).get("agent") or {}
    blocks = account.get("blocksWritten", 0)
    return f"{count_text(blocks, 'block')} ({size_text(blocks * BLOCK_BYTES)}) written"


def _parts(record: RestoreRecord) -> str:
    """Seconds from the request to the end, by what the step was about."""
    looks = [visit for visit in record.visits if visit.state == "Rewind" and visit.payload is not None]
    at: dict[str, float] = {}
    for visit in looks:
        at.setdefault(visit.payload["phase"], visit.entered_at)
    names = {"arm": "agent sent", "wait": "armed", "write": "may write", "done": "done"}
    return ", ".join(
        f"{name} after {at[phase] - record.started_at:.0f} s" for phase, name in names.items() if phase in at
    )


def _pieces(image: SnapshotImage) -> Iterator[tuple[int, int, str]]:
    """What the snapshot has, in pieces: offset and length in bytes, and the SHA-256."""
    if image.path is None:
        raise StoryError(f"{image.snapshot_id} has no data")
    with image.path.open("rb") as file:
        for first, count in image.extents:
            end = (first + count) * BLOCK_BYTES
            for offset in range(first * BLOCK_BYTES, end, PIECE_BYTES):
                length = min(PIECE_BYTES, end - offset)
                file.seek(offset)
                yield offset, length, hashlib.sha256(file.read(length)).hexdigest()
