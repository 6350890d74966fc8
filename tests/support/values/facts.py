"""Any facts, for Hypothesis: one volume, or the volumes of one restore beside each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from rewarm.domain.model import (
    BLOCK_BYTES,
    GIB,
    FastSnapshotRestore,
    InstanceEbsLimits,
    VolumeSettings,
)
from rewarm.domain.plan.facts import CloneSource, VolumeFacts, beside_each_other
from rewarm.domain.time.timings import Quantiles, Timings
from rewarm.domain.volume.volume_types import speed
from tests.support.builders import NOW
from tests.support.fakes import tokyo_prices

TOKYO = replace(
    tokyo_prices(NOW),
    iops_usd_per_month={"gp3": Decimal("0.006"), "io1": Decimal("0.074"), "io2": Decimal("0.074")},
    clone_usd_per_gib=Decimal("0.002"),
)
"""With a price for a clone too, which AWS's pages do not name: any will do where it is only compared."""
HOUR = 3_600
SIZES_GIB = (1_024, 1, 100, 8, 4_096, 16_384, 32_768)
SETTINGS = (
    ("gp3", None, None),
    ("gp3", 3_000, 125),
    ("gp3", 4_000, 250),
    ("gp3", 80_000, 2_000),
    ("gp2", None, None),
    ("io1", 100, None),
    ("io2", 400, None),
    ("io2", 64_000, None),
    ("st1", None, None),
)
INSTANCES = (
    InstanceEbsLimits(500.0, 500.0, 20_000, 20_000),
    None,
    InstanceEbsLimits(None, None, None, None),
    InstanceEbsLimits(43.0, 260.0, 2_000, 11_800),
    InstanceEbsLimits(593.75, 593.75, 20_000, 20_000),
    InstanceEbsLimits(150.0, 1_250.0, 6_000, 40_000),
)
FAST_RESTORES = (
    None,
    None,
    FastSnapshotRestore("enabling", NOW),
    FastSnapshotRestore("optimizing", NOW, 0.0),
    FastSnapshotRestore("enabled", NOW, 0.0),
    FastSnapshotRestore("enabled", NOW, 2.5),
    FastSnapshotRestore("enabled", NOW, 10.0),
    FastSnapshotRestore("disabling", NOW),
)
TIMINGS = (
    Timings(),
    Timings(first_touch_mib_s=Quantiles(1_200.0, 900.0), warm_up_share=Quantiles(0.97, 0.8)),
    Timings(first_touch_mib_s=Quantiles(60.0, 20.0), rate_delivered=Quantiles(1.0, 0.95)),
)


def _log(number: int, least: float, most: float) -> float:
    """0 to 1,000, evenly by the factor: short deadlines and small budgets are where choices differ."""
    return least * (most / least) ** (number / 1_000)


def _deadline(number: int) -> float | None:
    return _log(number, 100, 10 * 24 * HOUR) if number % 7 else None


def _budget(number: int) -> Decimal | None:
    return Decimal(round(_log(number, 1, 400_000_000))) / 1_000_000 if number % 4 else None


deadlines = st.integers(0, 1_000).map(_deadline)
budgets = st.integers(0, 1_000).map(_budget)
RATE_QUOTAS_MIB_S = (5_000, 99, 150, 700, 0)
_KINDS = (SIZES_GIB, SETTINGS, INSTANCES, FAST_RESTORES, TIMINGS)
_STATES = (range(4), RATE_QUOTAS_MIB_S, range(256))


def _pick(number: int, choices: Sequence[Sequence[Any]]) -> list[Any]:
    """One of each: the number's digits, each to its own base."""
    found = []
    for choice in choices:
        number, place = divmod(number, len(choice))
        found.append(choice[place])
    return found


VOLUME_BYTES = 9
"""Of each volume: how it is related to the one before, and everything about it."""


def any_facts(**fixed: Any) -> st.SearchStrategy[VolumeFacts]:
    """One volume. A single draw: drawing is what takes time where there are ten thousand cases."""
    return st.binary(min_size=VOLUME_BYTES, max_size=VOLUME_BYTES).map(lambda raw: _volume(raw, **fixed))


def request_of(seed: int) -> tuple[VolumeFacts, float | None, Decimal | None]:
    """One volume, a deadline in seconds and a budget in US dollars: for each seed always the same."""
    draw = random.Random(seed)
    facts = _volume(draw.randbytes(VOLUME_BYTES))
    return facts, _deadline(draw.randint(0, 1_000)), _budget(draw.randint(0, 1_000))


def any_restore(most: int = 4) -> st.SearchStrategy[list[VolumeFacts]]:
    """Volumes with what AWS says of all alike: a snapshot's state in a zone, an instance's limits, quotas."""
    size = most * VOLUME_BYTES
    return st.binary(min_size=size, max_size=size).map(
        lambda raw: _restore(raw[: (1 + (1 + raw[0]) % most) * VOLUME_BYTES])
    )


def _restore(raw: bytes) -> list[VolumeFacts]:
    volumes: list[VolumeFacts] = []
    for start in range(0, len(raw), VOLUME_BYTES):
        part = raw[start : start + VOLUME_BYTES]
        kind = part[0] % 3
        if not volumes:
            volumes.append(_volume(part))
        elif kind == 0:
            volumes.append(volumes[-1])
        else:
            volumes.append(_volume(part, **_shared(volumes[0], same_snapshot=kind == 1)))
    return beside_each_other(volumes)


def _volume(raw: bytes, **fixed: Any) -> VolumeFacts:
    size_gib, settings, instance, fast_restore, timings = _pick(int.from_bytes(raw[1:4], "big"), _KINDS)
    fsr_quota, rate_quota, bits = _pick(int.from_bytes(raw[4:7], "big"), _STATES)
    volume_type, iops, throughput = settings
    wanted = VolumeSettings(volume_type, max(size_gib, 125 if volume_type == "st1" else 4), iops, throughput)
    data_bytes = size_gib * GIB * max(0, 1_000 - int.from_bytes(raw[7:9], "big") // 50) // 1_000
    blocks = data_bytes // BLOCK_BYTES
    values: dict[str, Any] = {
        "data_bytes": data_bytes,
        "written_bytes": blocks * BLOCK_BYTES,
        "written_blocks": blocks,
        "snapshot_size_gib": size_gib,
        "speed": speed(wanted),
        "settings": wanted,
        "instance_limits": instance,
        "instance_id": None if instance is None else f"i-{INSTANCES.index(instance)}",
        "agent_available": instance is not None and bits & 7 != 7,
        "verified": bits & 8 == 0,
        "max_warm_up_mib_s": 50 if bits & 48 == 48 else None,
        "fast_restore": fast_restore,
        "fast_restore_quota_left": fsr_quota,
        "rate_quota_left_mib_s": rate_quota,
        "clone_source": CloneSource("vol-1", size_gib, speed(wanted)) if bits & 64 else None,
        "timings": timings,
        "snapshot_id": "snap-0",
        "availability_zone": "ap-northeast-1a",
    }
    return VolumeFacts(**{**values, **fixed})


def _shared(first: VolumeFacts, *, same_snapshot: bool) -> dict[str, Any]:
    shared: dict[str, Any] = {
        "fast_restore_quota_left": first.fast_restore_quota_left,
        "rate_quota_left_mib_s": first.rate_quota_left_mib_s,
        "timings": first.timings,
    }
    if same_snapshot:
        return shared | {
            name: getattr(first, name)
            for name in ("snapshot_size_gib", "data_bytes", "written_bytes", "written_blocks", "fast_restore")
        }
    return shared | {"snapshot_id": "snap-1", "fast_restore": None}
