"""The measurements of a calibration, one after the other. Failed ones are left out, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

from botocore.exceptions import ClientError

from rewarm_cli.calibrate import figures
from rewarm_cli.calibrate.cloud import CalibrationError, Cloud, code_of
from rewarm_cli.calibrate.figures import Figure, Seen
from rewarm_cli.calibrate.reads import (
    BLOCK_PAGES,
    MIB_PAGES,
    PAGE_KIB,
    Phase,
    PhaseResult,
    Places,
    again,
    cold_limit,
    parsed,
    written,
)
from rewarm_cli.calibrate.ways import RATE_MIB_S

WATCH_SECONDS = 5.0
MOST_WATCH_SECONDS = 1_800.0
MOST_LAG_SECONDS = 330.0
"""AWS: it takes up to 5 minutes for the information to be updated."""
ENOUGH_CHANGES, ENOUGH_PERCENT, ENOUGH_MINUTES = 3, 10, 12
UNIT_BASES, UNIT_REACHES = 12, (1, 32, 64, 128, 256, 512, 1024)
"""Pages between a place that was read and a place that this may have warmed: 4 KiB to 4 MiB."""
LEAST_AGREEING = 6
FAR_PAGES = 2_048
"""8 MiB: no unit is larger."""
ROW, ROW_PAGES = 96, MIB_PAGES // 4
"""Sequential reads, and the pages of each."""
DEPTHS = (16, 64, 128)
MANY_TIMES = 6
"""How many more reads of each program the second run of a depth has."""
END_SHARE = 0.4
"""The standard deviation of a run's end, as a part of a read's time (a cautious value)."""
PROBES = 700
CLOCKS_SECONDS = 0.5
"""How far the clocks of the instance and of this machine may differ."""
FSR_SECONDS = 1_500.0


@dataclass(slots=True)
class Measured:
    """The results of a calibration."""

    figures: dict[str, Figure] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    error_codes: dict[str, str] = field(default_factory=dict)
    not_measured: dict[str, str] = field(default_factory=dict)

    def keep(self, name: str, figure: Figure | None, reason: str) -> None:
        """Keeps the figure, or why there is none."""
        if figure is None:
            self.not_measured[name] = reason
        else:
            self.figures[name] = figure


@dataclass(slots=True)
class Durations:
    """The observations of each kind."""

    create: list[Seen] = field(default_factory=list)
    attach: list[Seen] = field(default_factory=list)
    detach: list[Seen] = field(default_factory=list)
    delivery: list[Seen] = field(default_factory=list)


@dataclass(slots=True)
class Watched:
    """What EC2 showed of an initialization: each change of Progress, and the polls before and after it."""

    volume_id: str
    changes: list[tuple[Seen, int]] = field(default_factory=list)
    shown: int | None = None
    is_completed: bool = False
    looked: float = 0.0

    def note(self, at: float, progress: int | None, *, completed: bool) -> None:
        """Notes a poll; what the first one finds is no change, because it may be old."""
        self.is_completed = completed
        if progress is not None:
            if self.shown is not None and progress != self.shown:
                self.changes.append((Seen(self.looked, at), progress))
            self.shown = progress
        self.looked = at


class Measuring:
    """One calibration. `say` shows the user what is being done."""

    def __init__(self, cloud: Cloud, size_gib: int, ways: Sequence[str], say: Callable[[str], None]) -> None:
        self._cloud = cloud
        self._size = size_gib
        self._ways = ways
        self._say = say
        self._durations = Durations()
        self._unit_pages = BLOCK_PAGES
        self._touched_pages = 0
        self.measured = Measured()

    def run(self) -> Measured:
        """Measures everything. Raises CalibrationError and botocore's errors; earlier results stay."""
        try:
            self._all()
        finally:
            self._keep_durations()
        return self.measured

    def _all(self) -> None:
        snapshot = self._source()
        left, _ = self._volume("one is left alone", SnapshotId=snapshot)
        read, _ = self._volume("one is read", SnapshotId=snapshot)
        alone = Watched(left)
        touched = Watched(read)
        attached_at = self._cloud.clock.now()
        self._durations.attach.append(self._cloud.attach(read))
        self._touch(read)
        self._await_refresh(alone, touched)
        if "rate" in self._ways:
            self._rate(snapshot)
        if "fsr" in self._ways:
            self._fast_restore(snapshot, [alone, touched])
        self._watch(alone, touched, read, attached_at)
        self._durations.detach.append(self._cloud.detach(read))
        self._cloud.delete_volume(read)

    # ----------------------------------------------------------------------------------- the snapshot
    def _source(self) -> str:
        self._say(f"making a volume of {self._size} GiB")
        volume, seen, _ = self._cloud.create_volume(Size=self._size)
        self._durations.create.append(seen)
        self._durations.attach.append(self._cloud.attach(volume))
        self._say(f"writing {self._size} GiB to it")
        output, sent = self._cloud.run(volume, self._size, "write", str(self._size * 1024))
        if (times := written(output)) is not None:
            self._delivered(sent, times[0])
        self._dry_runs(volume)
        self._durations.detach.append(self._cloud.detach(volume))
        self._say("making a snapshot of it")
        snapshot, taken = self._cloud.create_snapshot(volume)
        self.measured.keep("snapshotSeconds", figures.duration([taken]), "")
        self._cloud.delete_volume(volume)
        return snapshot

    def _volume(self, what: str, **settings: Any) -> tuple[str, float]:
        """Makes a volume of the snapshot; returns it and when it was available."""
        self._say(f"making a volume of the snapshot: {what}")
        name, seen, at = self._cloud.create_volume(**settings)
        self._durations.create.append(seen)
        return name, at

    def _dry_runs(self, volume: str) -> None:
        """Sends wrong requests with DryRun: EC2 says what is wrong, and does nothing."""
        ec2 = self._cloud.clients.ec2
        where = self._cloud.where
        new = {
            "AvailabilityZone": where.zone,
            "Size": 1,
            "VolumeType": "gp3",
            "TagSpecifications": self._cloud.tags("volume"),
            "DryRun": True,
        }
        here = {"VolumeId": volume, "DryRun": True}
        asked: Mapping[str, Callable[[], object]] = {
            "rate-without-snapshot": lambda: ec2.create_volume(**new, VolumeInitializationRate=RATE_MIB_S),
            "volume-in-use": lambda: ec2.attach_volume(
                **here, InstanceId=where.instance_id, Device="/dev/sdf"
            ),
            "delete-in-use": lambda: ec2.delete_volume(**here),
            "all-right": lambda: ec2.create_volume(**new),
        }
        for name, call in asked.items():
            try:
                call()
            except ClientError as error:
                self.measured.error_codes[name] = code_of(error)

    # -------------------------------------------------------------------------------------- first reads
    def _touch(self, volume: str) -> None:
        self._say("reading it: how slow a first touch is, what it loads, and how many go on at once")
        places = Places(self._size)
        places.take("margin", 1, every=FAR_PAGES)
        bases = places.take("base", UNIT_BASES, every=FAR_PAGES)
        reaches = [again(bases, f"reach-{pages}", offset=pages) for pages in reversed(UNIT_REACHES)]
        first = places.take("first", 160, every=FAR_PAGES // 2)
        warm = again(first, "warm")
        same = again(first, "same", offset=BLOCK_PAGES // 2, count=48)
        # Neighbouring places come first, because EBS loads the volume meanwhile.
        found = {result.name: result for result in self._reads(volume, [bases, *reaches, first, warm, same])}
        cold = self._first_touch(found)
        if cold is None:
            return
        self._unit(found, cold)
        self._read_ahead(volume, places, cold)
        self._concurrency(volume, places)
        self._sweep(volume, places)

    def _first_touch(self, found: Mapping[str, PhaseResult]) -> float | None:
        """The milliseconds from which a read is a first touch; None if nothing was slow."""
        warm = found["warm"].milliseconds
        limit = cold_limit(warm)
        cold = [taken for taken in found["first"].milliseconds if taken >= limit]
        keep = self.measured.keep
        few = "too few first reads were slow; EBS had loaded the volume before"
        keep("warmReadMs", figures.quantile(warm, 0.5), "no warm read was timed")
        keep("firstTouchMs", figures.mean(cold), few)
        keep("firstTouchP90Ms", figures.quantile(cold, 0.9), few)
        if "firstTouchMs" not in self.measured.figures:
            keep("fetchConcurrency", None, few)
            keep("fetchUnitKib", None, few)
            keep("readAheadKib", None, few)
            return None
        self.measured.answers["readWarmsBlock"] = _agreed(found["first"], found["same"], limit)
        return limit

    def _unit(self, found: Mapping[str, PhaseResult], limit: float) -> None:
        """How much a read loads, by the farthest place that it has warmed."""
        warm = {pages: _agreed(found["base"], found[f"reach-{pages}"], limit) for pages in UNIT_REACHES}
        if None in warm.values():
            self.measured.keep(
                "fetchUnitKib",
                None,
                "some reads loaded more than others, or EBS had loaded these places before",
            )
            return
        unit = 1
        for pages in UNIT_REACHES:
            if not warm[pages]:
                break
            unit = max(32, 2 * pages) if pages > 1 else 32
        self._unit_pages = unit
        kib = float(unit * PAGE_KIB)
        self.measured.keep("fetchUnitKib", Figure(kib, kib, kib, UNIT_BASES), "")

    def _read_ahead(self, volume: str, places: Places, limit: float) -> None:
        """Reads 24 MiB sequentially: what lies between two first touches was loaded with the first."""
        places.take("margin", 1, every=FAR_PAGES * 10)
        (row,) = self._reads(
            volume,
            [Phase("row", 1, places.left // FAR_PAGES * FAR_PAGES, ROW_PAGES, ROW, places.pages, ROW_PAGES)],
        )
        cold = [number for number, taken in enumerate(row.milliseconds) if taken >= limit]
        # A few reads come before EBS treats a reader as sequential.
        gaps = [later - earlier for earlier, later in pairwise(cold) if earlier >= ROW // 12]
        kib = [max(0.0, (gap * ROW_PAGES - self._unit_pages) * PAGE_KIB) for gap in gaps]
        figure = Figure(median(kib), min(kib), max(kib), len(kib)) if len(kib) > 1 else None
        self.measured.keep("readAheadKib", figure, "more was read ahead than was looked at")

    def _concurrency(self, volume: str, places: Places) -> None:
        """How many first touches EBS serves at once: their rate times the duration of a single one.

        Each depth reads twice, a few places and then many. Both have the costs of start and end, so the
        difference has neither.
        """
        every = max(self._unit_pages, BLOCK_PAGES)
        rates: dict[int, tuple[int, int, float]] = {}
        for depth in DEPTHS:
            count = 2 * depth
            if (2 * count + MANY_TIMES * depth) * every > places.left - places.pages // 4:
                break
            few = places.take("few", count, every=every, depth=depth)
            many = places.take("many", count + MANY_TIMES * depth, every=every, depth=depth)
            first, second = self._reads(volume, [few, many])
            seconds = (second.ended - second.began) - (first.ended - first.began)
            if seconds > 0:
                rates[depth] = (MANY_TIMES * depth, 2 * count + MANY_TIMES * depth, seconds)
        self._keep_concurrency(rates)

    def _keep_concurrency(self, rates: Mapping[int, tuple[int, int, float]]) -> None:
        alone = self.measured.figures["firstTouchMs"]
        if not rates:
            self.measured.keep("fetchConcurrency", None, "the reads ended too soon to be timed")
            return
        deepest = max(rates)
        at_once = rates[deepest][0] / rates[deepest][2] * alone.value / 1_000
        if at_once > 0.75 * deepest:
            self.measured.keep("fetchConcurrency", None, f"more than {deepest} at once: no more were tried")
            return
        full = [found for depth, found in rates.items() if depth == deepest or depth >= 1.4 * at_once]
        reads = sum(found[0] for found in full)
        all_reads = sum(found[1] for found in full)
        seconds = sum(found[2] for found in full)
        at_once = reads / seconds * alone.value / 1_000
        # Times vary as those of single reads; the variance of a difference is the sum of the variances.
        spread = (alone.high - alone.low) / (2 * alone.value)
        ends = figures.SIGMAS * END_SHARE * at_once * (2 * len(full)) ** 0.5 / reads
        error = (spread**2 * (1 + alone.observations * all_reads / reads**2) + ends**2) ** 0.5
        self.measured.keep(
            "fetchConcurrency", Figure(at_once, at_once * (1 - error), at_once * (1 + error), all_reads), ""
        )

    def _sweep(self, volume: str, places: Places) -> None:
        """Touches more of the volume, to see whether EC2's Progress counts it."""
        every = self._unit_pages if self._unit_pages > 1 else BLOCK_PAGES
        count = min(int(0.4 * places.pages), places.left - places.pages // 4) // every
        if count > 0:
            self._reads(volume, [places.take("sweep", count, every=every, depth=64)])

    def _reads(self, volume: str, phases: Sequence[Phase]) -> list[PhaseResult]:
        plan = " ".join(phase.text for phase in phases)
        output, sent = self._cloud.run(volume, self._size, "read", plan)
        found = parsed(output)
        # Each place is in a separate unit.
        new = sum(phase.count for phase in phases if phase.name in ("first", "few", "many", "sweep"))
        self._touched_pages += new * self._unit_pages
        if len(found) < len(phases):
            raise CalibrationError("the instance printed less than was read; is its clock set, and dd GNU's?")
        self._delivered(sent, found[0].began)
        return found

    def _delivered(self, sent: float, began: float) -> None:
        seconds = began - sent
        if seconds > -CLOCKS_SECONDS:
            self._durations.delivery.append(
                Seen(max(0.0, seconds - CLOCKS_SECONDS), max(0.0, seconds) + CLOCKS_SECONDS)
            )

    # --------------------------------------------------------------------------------- a provisioned rate
    def _rate(self, snapshot: str) -> None:
        try:
            volume, available = self._volume(
                f"one at {RATE_MIB_S} MiB/s", SnapshotId=snapshot, VolumeInitializationRate=RATE_MIB_S
            )
        except ClientError as error:
            self.measured.error_codes["rate-refused"] = code_of(error)
            self.measured.keep("rateDelivered", None, f"EC2 refused the rate: {code_of(error)}")
            return
        created = self._durations.create[-1]
        self._durations.attach.append(self._cloud.attach(volume))
        probes = self._probes()
        (result,) = self._reads(volume, [probes])
        limit = cold_limit(
            [self.measured.figures["warmReadMs"].value] if "warmReadMs" in self.measured.figures else [1.0]
        )
        # A probe shows the block's state when the read begins.
        seen = [(at - available, taken >= limit) for at, taken in result.reads]
        end = figures.end_of_loading(seen)
        self._keep_rate(end, (created.high - created.low) / 2 + CLOCKS_SECONDS)
        self._durations.detach.append(self._cloud.detach(volume))
        self._cloud.delete_volume(volume)

    def _probes(self) -> Phase:
        """Places all over the volume, in an order without a direction."""
        pages = self._size * 1024 * MIB_PAGES
        every = max(self._unit_pages, BLOCK_PAGES)
        places = pages // every
        jump = int(places * 0.618034) | 1
        while places % jump == 0 or _divisor(places, jump) > 1:
            jump += 2
        return Phase("probe", 1, 0, jump * every, min(PROBES, places // 2), pages)

    def _keep_rate(self, end: Figure | None, unsure_seconds: float) -> None:
        if end is None:
            self.measured.keep(
                "rateDelivered", None, "EBS had loaded the volume before enough of it was read"
            )
            return
        promised = self._size * 1024 / RATE_MIB_S
        self.measured.keep(
            "rateDelivered",
            Figure(
                promised / end.value,
                promised / (end.high + unsure_seconds),
                promised / max(1e-9, end.low - unsure_seconds),
                end.observations,
            ),
            "",
        )

    # ------------------------------------------------------------------------------ fast snapshot restore
    def _fast_restore(self, snapshot: str, watched: Sequence[Watched]) -> None:
        self._say("enabling fast snapshot restore")
        cloud = self._cloud
        clock = self._cloud.clock
        refused = cloud.enable_fast_restore(snapshot)
        if refused is not None:
            self.measured.error_codes["fast-restore-refused"] = refused
            for name in ("fsrEnablingSeconds", "fsrOptimizingSeconds", "fsrDisablingSeconds"):
                self.measured.keep(name, None, f"EC2 refused fast snapshot restore: {refused}")
            return
        began = clock.now()

        def is_enabled() -> bool:
            self._look(watched)
            return bool(cloud.fast_restore(snapshot).get("State") == "enabled")

        try:
            cloud.until(is_enabled, began, "fast snapshot restore", most=FSR_SECONDS / 2, poll=WATCH_SECONDS)
            self._fast_restore_times(cloud.fast_restore(snapshot))
            self._credits(snapshot, cloud.fast_restore(snapshot), began + FSR_SECONDS, watched)
        except CalibrationError as error:
            self.measured.keep("fsrEnablingSeconds", None, str(error))
        ended = clock.now()
        cloud.disable_fast_restore(snapshot)
        with suppress(CalibrationError):
            gone = cloud.until(
                lambda: cloud.fast_restore(snapshot).get("State") in (None, "disabled"),
                ended,
                "the end",
                most=300,
            )
            self.measured.keep("fsrDisablingSeconds", figures.duration([gone]), "")

    def _fast_restore_times(self, shown: Mapping[str, Any]) -> None:
        """EC2's own times, which may be whole seconds."""
        times = [shown.get(name) for name in ("EnablingTime", "OptimizingTime", "EnabledTime")]
        for name, begin, end in zip(
            ("fsrEnablingSeconds", "fsrOptimizingSeconds"), times, times[1:], strict=False
        ):
            if begin is None or end is None:
                self.measured.keep(name, None, "EC2 shows no time")
                continue
            seconds = (end - begin).total_seconds()
            self.measured.keep(name, Figure(seconds, max(0.0, seconds - 1), seconds + 1, 1), "")

    def _credits(
        self, snapshot: str, shown: Mapping[str, Any], until: float, watched: Sequence[Watched]
    ) -> None:
        """A volume made between the two possible times of the first credit shows when credits begin."""
        self._say("waiting for its first credit")
        if shown.get("EnablingTime") is None or shown.get("EnabledTime") is None:
            return
        enabling = shown["EnablingTime"].timestamp()
        enabled = shown["EnabledTime"].timestamp()
        fill = 3_600 / min(10.0, 1_024 / self._size)
        early = enabling + fill
        late = enabled + fill
        between = (max(early, enabled) + late) / 2
        if late - early < 20 or late + 60 > until:
            return
        if self._is_fast_at(snapshot, between, watched):
            self.measured.answers["fsrCreditsBegin"] = "enabling"
        elif self._is_fast_at(snapshot, late + 60, watched):
            self.measured.answers["fsrCreditsBegin"] = "enabled"

    def _is_fast_at(self, snapshot: str, when: float, watched: Sequence[Watched]) -> bool:
        cloud = self._cloud
        while cloud.clock.now() < when:
            self._look(watched)
            cloud.clock.sleep(min(WATCH_SECONDS, max(0.1, when - cloud.clock.now())))
        volume, _ = self._volume("is it fast?", SnapshotId=snapshot)
        is_fast = cloud.is_fast_restored(volume)
        cloud.delete_volume(volume)
        return is_fast

    # -------------------------------------------------------------------------------------------- watching
    def _look(self, watched: Sequence[Watched]) -> None:
        self._cloud.renew()
        for volume in watched:
            progress, completed = self._cloud.initialization(volume.volume_id)
            volume.note(self._cloud.clock.now(), progress, completed=completed)

    def _await_refresh(self, alone: Watched, touched: Watched) -> None:
        """Waits for a refresh before EBS itself has loaded as much as was read, which would look the same."""
        self._say("waiting until EC2 shows how far the volume that was read is")
        began = self._cloud.clock.now()
        while self._cloud.clock.now() - began < MOST_LAG_SECONDS and not touched.changes:
            self._look([alone, touched])
            self._cloud.clock.sleep(WATCH_SECONDS)

    def _watch(self, alone: Watched, touched: Watched, read: str, attached_at: float) -> None:
        self._say("watching Progress and VolumeReadOps")
        clock = self._cloud.clock
        delays = _Minutes()
        began = clock.now()
        while clock.now() - began < MOST_WATCH_SECONDS:
            self._look([alone, touched])
            delays.note(clock.now(), self._cloud.read_minutes(read, attached_at))
            if _is_enough(alone) and len(delays.seen) >= ENOUGH_MINUTES:
                break
            clock.sleep(WATCH_SECONDS)
        self._keep_progress(alone)
        self._keep_answer(alone, touched)
        self.measured.keep(
            "metricDelaySeconds", figures.middle(delays.seen), "CloudWatch had no VolumeReadOps"
        )

    def _keep_progress(self, alone: Watched) -> None:
        changes = [change for change in alone.changes if change[1] < 100]
        moved = figures.slope(changes)
        mib = self._size * 1024
        self.measured.keep(
            "backgroundMibS",
            None if moved is None else figures.ratio(moved, mib / 100, mib / 100, mib / 100),
            "Progress did not change often enough",
        )
        times = [seen for seen, _ in changes]
        self.measured.keep("statusLagSeconds", figures.spacing(times), "Progress did not change often enough")

    def _keep_answer(self, alone: Watched, touched: Watched) -> None:
        """Whether EC2's Progress of the volume that was read is ahead of the other volume's."""
        share = 100 * self._touched_pages / (self._size * 1024 * MIB_PAGES)
        rate = self.measured.figures.get("backgroundMibS")
        if share < 20 or rate is None or touched.shown is None:
            return
        percent_a_second = rate.value / (self._size * 1024) * 100
        began, base = alone.changes[0]
        ahead = touched.shown - base - (touched.looked - began.high) * percent_a_second
        for seen, percent in touched.changes:
            ahead = max(ahead, percent - base - (seen.high - began.high) * percent_a_second)
        if ahead >= 0.4 * share:
            self.measured.answers["readsAdvanceProgress"] = True
        elif ahead <= 0.2 * share and _loaded(alone, touched) <= 0.5 * share:
            self.measured.answers["readsAdvanceProgress"] = False

    def _keep_durations(self) -> None:
        found = self._durations
        none = "it was not reached"
        self.measured.keep("createSeconds", figures.duration(found.create), none)
        self.measured.keep("attachSeconds", figures.duration(found.attach), none)
        self.measured.keep("detachSeconds", figures.duration(found.detach), none)
        self.measured.keep("deliverySeconds", figures.duration(found.delivery), none)


@dataclass(slots=True)
class _Minutes:
    """How long after its end each minute appeared; the first poll finds old ones, which do not count."""

    known: set[float] | None = None
    looked: float = 0.0
    seen: list[Seen] = field(default_factory=list)

    def note(self, now: float, minutes: set[float]) -> None:
        if self.known is not None:
            for minute in minutes - self.known:
                end = minute + 60
                self.seen.append(Seen(max(0.0, self.looked - end), now - end))
        self.known = (self.known or set()) | minutes
        self.looked = now


def _loaded(alone: Watched, touched: Watched) -> int:
    """Per cent that EBS itself had loaded when the other volume's Progress first changed."""
    until = touched.changes[0][0].high if touched.changes else touched.looked
    return max((percent for seen, percent in alone.changes if seen.low <= until), default=0)


def _is_enough(alone: Watched) -> bool:
    if alone.is_completed:
        return True
    changes = alone.changes
    return len(changes) >= ENOUGH_CHANGES and changes[-1][1] - changes[0][1] >= ENOUGH_PERCENT


def _agreed(before: PhaseResult, after: PhaseResult, limit: float) -> bool | None:
    """Whether nearly all reads after a first touch were warm, or nearly none; None in between.

    Places that were warm before do not count.
    """
    pairs = zip(before.milliseconds, after.milliseconds, strict=False)
    warm = [later < limit for earlier, later in pairs if earlier >= limit]
    if len(warm) < LEAST_AGREEING:
        return None
    if sum(warm) >= 0.8 * len(warm):
        return True
    return False if sum(warm) <= 0.2 * len(warm) else None


def _divisor(left: int, right: int) -> int:
    while right:
        left, right = right, left % right
    return left
