"""The words of the ways to full speed and of a plan's schedule: effort, when each is right, bars of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from types import MappingProxyType

from rewarm.domain.model import Boost, Strategy
from rewarm.domain.time.measured import Phase
from rewarm.domain.units import count_text, duration_text, size_text, usd_text
from rewarm.domain.value import Value
from rewarm.domain.volume.performance import performance_of

BY_HAND_WAY = "by-hand"
FIO_OPTIONS = "--rw=read --bs=1M --iodepth=32 --ioengine=libaio --direct=1 --name=volume-initialize"
BY_HAND: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "dd": (
            "sudo dd if=DEVICE of=/dev/null bs=1M",
            "create, attach, log in, find the device, keep the session open; after a break dd begins again",
        ),
        "fio": (
            f"sudo fio --filename=DEVICE {FIO_OPTIONS}",
            "as dd, but fio has to be installed first, and its depth to be tried out",
        ),
    }
)
"""(command, effort). The commands are those of the EBS user guide, "Initialize Amazon EBS volumes"."""

_NOTHING = "none: Rewarm does it and measures the result"
WAYS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        Strategy.BACKGROUND.value: (
            "none, but slow reads until EBS is done, nobody knows exactly when",
            "a day is soon enough, and the application bears slow first reads until then",
        ),
        Strategy.WARM_UP_AGENT.value: (
            _NOTHING,
            "an instance with Systems Manager gets the volume, and the deadline leaves the time to read it",
        ),
        Strategy.BOOSTED_WARM_UP.value: (
            f"{_NOTHING}; the volume's next change may have to wait",
            "the agent would be a little too late, and the volume's own limit is what holds it back",
        ),
        Strategy.PROVISIONED_RATE.value: (
            _NOTHING,
            "there is little data, no instance, or a deadline that the agent cannot keep",
        ),
        Strategy.FAST_SNAPSHOT_RESTORE.value: (
            f"{_NOTHING}; it is disabled again",
            "many volumes come from one snapshot, or it is enabled already and has credits",
        ),
        Strategy.VOLUME_CLONE.value: (
            "the request must name it",
            "what is on the source volume now is wanted, and not what the snapshot holds",
        ),
        Strategy.DIRECT_WRITE.value: (
            "the volume cannot be used before it is written completely",
            "several volumes are of one snapshot, or it is in another Region; or EBS makes no volume of it",
        ),
        Strategy.REWIND.value: (
            "the volume must not be in use meanwhile; target.mode rewind asks for it",
            "the volume is there and its data is damaged: just the blocks that differ are written",
        ),
        BY_HAND_WAY: (
            "a person on the instance from the beginning to the end",
            "there is one volume and no deadline, and nothing may be deployed to the account",
        ),
    }
)
"""Way -> (effort, when it is the right one)."""

BAR_CELLS = 24
WAITS, PREPARES, LOADS, UNTIL_P90 = "░", "▒", "█", "▓"
"""Block elements: of one width in nearly every font, so that bars stand below each other in a message too."""


def bar(waits: float, loads_at: float, p50: float, p90: float, end: float) -> str:
    """`░░░▒████▓▓`, by the seconds until which it waits, prepares, loads and may take, of the whole plan."""
    cells = BAR_CELLS / max(end, 1.0)
    drawn = ""
    for until, mark in ((waits, WAITS), (loads_at, PREPARES), (p50, LOADS), (p90, UNTIL_P90)):
        drawn += mark * (round(until * cells) - len(drawn))
    return drawn or UNTIL_P90


def strategy_text(strategy: str, rate_mib_s: int | None, boost: Boost | None, separator: str = " ") -> str:
    """`provisioned-rate (100 MiB/s)`, `boosted-warm-up (gp3 16,000 IOPS, 1,000 MiB/s)`, for a table."""
    detail = f"{rate_mib_s} MiB/s" if rate_mib_s else ""
    if boost:
        throughput = f", {boost.throughput_mib_s:,} MiB/s" if boost.throughput_mib_s else ""
        detail = detail or f"{boost.volume_type} {boost.iops:,} IOPS{throughput}"
    return f"{strategy}{separator}({detail})" if detail else strategy


def how_text(strategy: Strategy, rate_mib_s: int | None, boost: Boost | None) -> str:
    """`provisioned-rate at 100 MiB/s`, `boosted-warm-up as gp3 with 16,000 IOPS`, for a sentence."""
    rate = f" at {rate_mib_s} MiB/s" if rate_mib_s else ""
    return f"{strategy}{rate}{f' as {performance_of(boost).in_words}' if boost else ''}"


class ScheduleLine(Value, kw_only=True):
    """Volumes that are restored alike, in the schedule of a restore. Seconds count from the plan on."""

    volumes: int = field(metadata={"ge": 1})
    first_index: int
    alike: bool = field(
        default=True,
        metadata={
            "description": "False where many unlike volumes share the line: each figure is their worst."
        },
    )
    snapshot_id: str | None = field(
        default=None, metadata={"description": "Null where they come from several."}
    )
    target: str | None = field(
        default=None, metadata={"description": "Instance or zone; null where they go to several."}
    )
    data_bytes: int = field(metadata={"description": "Of each."})
    strategy: Strategy
    initialization_rate_mib_s: int | None = field(default=None, metadata={"description": "Of each."})
    boost: Boost | None = None
    start_seconds: int = field(
        default=0,
        metadata={"description": "When they are created: later than 0 where others hold what they need."},
    )
    usable_seconds: int
    ready_p50_seconds: int
    ready_p90_seconds: int
    deadline_missed: bool = False
    each_cost_usd: Decimal = field(metadata={"ge": 0})
    together_cost_usd: Decimal = field(metadata={"ge": 0})
    phases: dict[Phase, tuple[float, float]] = field(
        default_factory=dict,
        metadata={"description": "P50 and P90 seconds of each part, of one of these volumes."},
    )
    bar: str = field(
        default="",
        metadata={
            "description": "The line as a picture of block characters, all of a plan to one scale: light "
            "shade waits, medium shade prepares and creates, full block loads until P50, dark shade until "
            "P90."
        },
    )

    @property
    def subject(self) -> str:
        """`8 volumes of snap-1 (100 GiB of data each) to us-east-1a`."""
        up_to = "" if self.alike else "up to "
        each = " each" if self.volumes > 1 else ""
        source = f" of {self.snapshot_id}" if self.snapshot_id else ""
        target = f" to {self.target}" if self.target else ""
        data = f"{up_to}{size_text(self.data_bytes)} of data{each}"
        return f"{count_text(self.volumes, 'volume')}{source} ({data}){target}"

    @property
    def price(self) -> str:
        """`$0.12 each, $5.64 together`."""
        if self.volumes == 1:
            return usd_text(self.together_cost_usd)
        up_to = "" if self.alike else "up to "
        return f"{up_to}{usd_text(self.each_cost_usd)} each, {usd_text(self.together_cost_usd)} together"

    @property
    def sentence(self) -> str:
        """What becomes of these volumes."""
        how = how_text(self.strategy, self.initialization_rate_mib_s, self.boost)
        begin = f"begin in {duration_text(self.start_seconds)}, " if self.start_seconds else ""
        late = ", after the deadline" if self.deadline_missed else ""
        ready = (
            f"{duration_text(self.ready_p50_seconds)} (P50) to {duration_text(self.ready_p90_seconds)} (P90)"
        )
        return f"{self.subject}: {how}, {begin}full speed in {ready}{late}, {self.price}."


def group_lines(groups: Sequence[ScheduleLine]) -> Iterator[str]:
    """The schedule in a message."""
    yield (
        f"Schedule: {WAITS} waits for others, {PREPARES} is prepared and created, {LOADS} loads (P50), "
        f"{UNTIL_P90} may take until then (P90)."
    )
    for group in groups:
        yield group.bar
        yield group.sentence
