"""Published loading times of volumes, and what the rules estimate for the same volume without any history.

What reads one block after the other by hand is another program than the agent, and no strategy: BY_HAND has
what such reads say of a first touch. A row from which a prior was taken proves nothing of that prior.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from local.tools.plan import offline
from local.tools.plan.crossovers import NOW
from rewarm.domain.model import GIB, FastSnapshotRestore, InstanceEbsLimits, Strategy, VolumeSettings
from rewarm.domain.plan.estimates import Estimate, EstimateLimits
from rewarm.domain.plan.estimators import ESTIMATORS
from rewarm.domain.plan.facts import VolumeFacts
from rewarm.domain.time.measured import Phase
from rewarm.domain.time.timings import FIRST_TOUCH_SECONDS, MB_S, Quantiles
from rewarm.domain.volume.volume_types import speed

TIB_GIB = 1_024
NO_LIMIT = InstanceEbsLimits(12_500.0, 12_500.0, 400_000, 400_000)
"""No article says that its instance was the limit."""
LOADING: Mapping[Strategy, Phase] = {
    Strategy.WARM_UP_AGENT: Phase.READ,
    Strategy.BACKGROUND: Phase.LOAD,
    Strategy.PROVISIONED_RATE: Phase.LOAD,
    Strategy.FAST_SNAPSHOT_RESTORE: Phase.PREPARE,
}
"""The part of the time that was published. Creation, attachment and measurement come on top."""
AGENT, BACKGROUND, RATE, FSR = LOADING


@dataclass(frozen=True, slots=True)
class PublishedLoad:
    """How long a volume took."""

    text: str
    strategy: Strategy
    settings: VolumeSettings
    seconds: float
    is_most: bool = False
    """The article only says that it was done by then."""
    highest_rate: bool = False
    has_credit: bool = False
    data_gib: int | None = None
    """Less than the volume's size."""
    prior: str = ""
    """The field of Timings that was taken from it."""
    one_by_one: bool = False
    """Read by a program that waits for each block, where the agent keeps many in flight."""

    def estimate(self) -> Quantiles:
        """The loading alone, by the shipped priors."""
        data_gib = self.data_gib or self.settings.size_gib
        facts = VolumeFacts(
            data_bytes=data_gib * GIB,
            written_bytes=data_gib * GIB,
            written_blocks=data_gib * 2_048,
            snapshot_size_gib=self.settings.size_gib,
            speed=speed(self.settings),
            instance_limits=NO_LIMIT,
            agent_available=True,
            verified=True,
            settings=self.settings,
            fast_restore=FastSnapshotRestore("enabled", NOW, 1.0) if self.has_credit else None,
        )
        limits = EstimateLimits(deadline_seconds=0.0 if self.highest_rate else None)
        found = ESTIMATORS[self.strategy](facts, offline.Prices("us-east-1").book(now=NOW), limits)
        assert isinstance(found, Estimate)
        return dict(found.times.phases)[LOADING[self.strategy]]


def _tib_at(mb_s: float) -> float:
    return TIB_GIB * 1_024 / (mb_s * MB_S)


COPY_OF_2020_SECONDS = 22 * 60 + 56.65 - 79.341
"""The first copy of 10 GiB onto a gp2 volume of 120 GB from a snapshot, less the second."""
_GP3 = VolumeSettings("gp3", 100, 3_000, 125)
_GP3_TIB = VolumeSettings("gp3", TIB_GIB, 3_000, 125)
_FAST_GP3 = VolumeSettings("gp3", TIB_GIB, 16_000, 953)
_IO2 = VolumeSettings("io2", TIB_GIB, 64_000)

LOADS = (
    PublishedLoad(
        "left alone for 24 hours (2025)", BACKGROUND, _GP3, 86_400, is_most=True,
        prior="background_seconds_per_tib",
    ),
    PublishedLoad("fast snapshot restore, right after (2025)", FSR, _GP3, 0, has_credit=True),
    PublishedLoad("a rate, 20 minutes later; the rate is not named (2025)", RATE, _GP3, 1_200, is_most=True),
    PublishedLoad(
        "first touches of 10 GiB made a copy on Windows longer (2020)", AGENT, VolumeSettings("gp2", 112),
        COPY_OF_2020_SECONDS, data_gib=10, one_by_one=True,
    ),
    PublishedLoad(
        "first touches of 30 GiB made a copy on Windows longer (2023)",
        AGENT, VolumeSettings("gp3", 30, 3_000, 125), 13 * 60 + 39 - (8 * 60 + 22), one_by_one=True,
    ),
    PublishedLoad(
        "fio, tuned: about 100 MB/s (2024)", AGENT, _GP3_TIB, _tib_at(100), prior="first_touch_mib_s"
    ),
    PublishedLoad(
        "gp3 with up to 1,000 MB/s: 130 MB/s", AGENT, _FAST_GP3, _tib_at(130), prior="first_touch_mib_s"
    ),
    PublishedLoad(
        "gp3 with up to 1,000 MB/s: 140 MB/s", AGENT, _FAST_GP3, _tib_at(140), prior="first_touch_mib_s"
    ),
    PublishedLoad("io2: 700 MB/s", AGENT, _IO2, _tib_at(700), prior="first_touch_io_mib_s"),
    PublishedLoad("io2: 1.2 GB/s", AGENT, _IO2, _tib_at(1_200)),
    PublishedLoad(
        "60 minutes, and a credit after 60 (EBS user guide)", FSR, _GP3_TIB, 2 * 3_600,
        prior="fsr_optimizing_seconds_per_tib",
    ),
    PublishedLoad(
        "58 minutes at 300 MiB/s (EBS user guide)", RATE, _GP3_TIB, 58 * 60, highest_rate=True,
        prior="rate_delivered",
    ),
    PublishedLoad(
        "175 minutes at 100 MiB/s (EBS user guide)", RATE, _GP3_TIB, 175 * 60, prior="rate_delivered"
    ),
)  # fmt: skip
"""No article names the instance, nor io2's IOPS. Where only a speed was published, it is that of 1 TiB."""

BY_HAND = {
    "random reads at depth 1: 11 a second (2025)": 1 / 11,
    "first touch of a block on RDS": 0.035,
    "dd of a cold file: 5 MB/s (2024)": 0.5 / (5 * MB_S),
    "first touches of 10 GiB made a copy on Windows longer (2020)": COPY_OF_2020_SECONDS / 20_480,
}
"""Seconds for a block of 512 KiB, one at a time."""


def first_touch_ratios() -> dict[str, float]:
    """How many times as long as the prior's each of them took."""
    return {text: seconds / FIRST_TOUCH_SECONDS for text, seconds in BY_HAND.items()}
