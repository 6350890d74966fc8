"""The tables of docs/strategies.md, from the rules themselves, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from decimal import Decimal

from local.tools.plan.crossovers import NAMES, Totals, size_name, volumes_until_cheaper, ways
from local.tools.plan.published import LOADS
from rewarm.domain.time.timings import PRIORS, Quantiles
from rewarm.domain.units import duration_text, elapsed_text, usd_text
from rewarm.domain.words.schedule import WAYS

SIZES_GIB = (100, 1_024, 4_096, 16_384)
REGIONS = ("us-east-1", "ap-northeast-1")
PRIORS_FROM = {
    "create_seconds": ("CreateVolume until `available`", "measured; UNVERIFIED, AWS names no time"),
    "attach_seconds": ("AttachVolume until `attached`", "measured; UNVERIFIED, AWS names no time"),
    "boot_seconds": (
        "StartInstances until Systems Manager hears from the instance, with target.start",
        "UNVERIFIED, AWS names no time",
    ),
    "measure_seconds": (
        "the measurement of the cold volume, where EBS loads it",
        "measured on the embedded AWS; UNVERIFIED on AWS",
    ),
    "delivery_seconds": (
        "SendCommand until the agent has measured the cold volume and reads",
        "measured; UNVERIFIED, AWS names no time",
    ),
    "first_touch_mib_s": (
        "what S3 gives one volume, MiB/s",
        "P50: 130 to 140 MB/s (published, gp3); P90: 100 MB/s (tuned fio, published 2024)",
    ),
    "first_touch_io_mib_s": (
        "the same for io1 and io2",
        "P50: 700 MB/s, the least published for io2; P90: UNVERIFIED, see below",
    ),
    "warm_up_share": (
        "share of the lowest limit that the agent reaches",
        "P90: 100 MB/s (tuned fio, published 2024) of a gp3 volume's 125 MiB/s, rounded down",
    ),
    "metric_delay_seconds": (
        "the agent's end until VolumeReadOps is quiet, where nothing is measured",
        "UNVERIFIED, AWS names no delay",
    ),
    "status_delay_seconds": (
        "initialized until DescribeVolumeStatus says so",
        "EBS user guide, Monitor the status of volume initialization: up to 5 minutes",
    ),
    "copy_start_seconds": (
        "the execution that copies blocks, until the first ones are there",
        "measured on the embedded AWS; UNVERIFIED, AWS names no time",
    ),
    "verify_seconds": ("the measurement after the warm-up", "measured; delivery and 256 reads"),
    "rate_delivered": (
        "share of a provisioned rate that is delivered",
        "EBS user guide, Provisioned Rate for Volume Initialization: to 10 % on average, 99 % of the time",
    ),
    "fsr_optimizing_seconds_per_tib": (
        "fast snapshot restore, optimizing a TiB",
        "EBS user guide, View fast snapshot restore: 60 minutes per TiB; a tenth more, for it is no promise",
    ),
    "fsr_poll_seconds": (
        "a credit until its metric shows it",
        "EBS user guide, CloudWatch metrics: by the minute",
    ),
    "background_seconds_per_tib": (
        "background initialization, each TiB",
        "100 GiB were back within a day (published 2025); UNVERIFIED, AWS calls it unpredictable",
    ),
    "background_least_seconds": ("the same, at least", "UNVERIFIED, as above"),
    "clone_first_tib_seconds": (
        "a clone's first TiB",
        "EBS user guide, Copy volumes: up to 6 hours; the half as P50 is UNVERIFIED",
    ),
    "clone_next_tib_seconds": ("each further TiB", "the same page: 1.2 hours, to 16 TiB; P50 UNVERIFIED"),
    "clone_most_seconds": ("above 16 TiB", "the same page: 24 hours; P50 UNVERIFIED"),
    "evidence_seconds": (
        "snapshot of a volume that has some, until completed",
        "people report 3 min, 15 min and 2 h; UNVERIFIED",
    ),
}
"""Field of Timings: (what it is, where its prior comes from)."""


def all_tables() -> dict[str, str]:
    """Name to Markdown."""
    made = {f"sizes-{region}": sizes(region) for region in REGIONS}
    made |= {"several": several(), "crossovers": until_cheaper(), "ways": ways_to_full_speed()}
    return {**made, "priors": priors(), "published": published()}


def sizes(region: str) -> str:
    """P90 and cost of every way, for volumes from 100 GiB to 16 TiB."""
    rows = [
        [text, *(_cell(ways(gib, region=region).get(name)) for gib in SIZES_GIB)]
        for name, (text, _) in NAMES.items()
    ]
    rows.append(["fast-snapshot-restore, enabled already, with credits", *_enabled(region)])
    return markdown(["", *(size_name(gib) for gib in SIZES_GIB)], rows)


def ways_to_full_speed() -> str:
    """What people do for each way, and when it is the right one, as plans explain it."""
    rows = [[f"`{name}`", effort, right_when] for name, (effort, right_when) in WAYS.items()]
    return markdown(["way", "what people do for it", "right when"], rows)


def several() -> str:
    """Twelve volumes from one snapshot beside one."""
    rows = []
    for gib in (100, 1_024):
        for name in ("rate 100", "rate 300", "fast-snapshot-restore"):
            cells = [_cell(ways(gib, volumes).get(name)) for volumes in (1, 12)]
            rows.append([f"{size_name(gib)}, {NAMES[name][0]}", *cells])
    return markdown(["us-east-1, all volumes together", "1 volume", "12 volumes"], rows)


def until_cheaper() -> str:
    """From how many volumes on fast snapshot restore is the cheaper one."""
    rows = []
    for gib in (30, 100, 300, *SIZES_GIB[1:]):
        found = [
            volumes_until_cheaper(gib, rate, region)
            for region in REGIONS
            for rate in ("rate 100", "rate 300")
        ]
        rows.append([size_name(gib), *("more than 16" if one is None else str(one) for one in found)])
    head = [f"{region}, {rate} MiB/s" for region in REGIONS for rate in (100, 300)]
    return markdown(["data", *head], rows)


def priors() -> str:
    """What stands in for what AWS does not promise."""
    rows = []
    for field in fields(PRIORS):
        value = getattr(PRIORS, field.name)
        if isinstance(value, Quantiles):
            what, source = PRIORS_FROM[field.name]
            rows.append([f"`{field.name}`", what, _number(value.p50), _number(value.p90), source])
    return markdown(["figure", "what", "P50", "P90", "from"], rows)


def published() -> str:
    """What was published beside what is estimated."""
    rows = []
    for load in LOADS:
        found = load.estimate()
        seconds = f"at most {elapsed_text(load.seconds)}" if load.is_most else elapsed_text(load.seconds)
        volume = f"{load.settings.volume_type}, {size_name(load.settings.size_gib)}"
        volume += f", {load.data_gib} GiB of data" if load.data_gib else ""
        prior = f"`{load.prior}`" if load.prior else ""
        rows.append(
            [
                load.text,
                volume,
                f"`{load.strategy}`",
                seconds,
                elapsed_text(found.p50),
                elapsed_text(found.p90),
                prior,
            ]
        )
    head = ["published", "volume", "held against", "took", "P50", "P90", "circular: the prior from it"]
    return markdown(head, rows)


def _enabled(region: str) -> Iterable[str]:
    return (_cell(ways(gib, 1, region, "enabled").get("fast-snapshot-restore")) for gib in SIZES_GIB)


def _cell(found: Totals | None) -> str:
    if found is None:
        return "not possible"
    return f"{duration_text(found.p90_seconds)}, {usd_text(Decimal(f'{found.usd:.6f}'))}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
