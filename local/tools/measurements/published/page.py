"""docs/measurements.md: published beside measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local import Json
from local.tools.bench.report import markdown_table
from local.tools.measurements.published.copies import CopyRow
from local.tools.measurements.published.figures import PUBLISHED_DD_MIB_S, WITHIN, Row
from local.tools.measurements.published.picture import draw
from rewarm_cli.bench import picture as comparison
from rewarm_cli.bench.tables import COLUMNS, by_pattern, row, title

PAGE, PICTURE, MOUNTS_PICTURE = "measurements.md", "measurements.svg", "measurements-mounts.svg"
INTRODUCTION = """\
Written by `make measurements`: what was published of EBS volumes after a restore, measured again with
Rewarm's own benchmarks (`POST /benchmarks`, fio through Run Command) on the first-touch volumes of the
embedded AWS. It is a model, and no evidence of how fast AWS is. Three of its figures are set to the
published ones: a cold read, a warm read and a write (see [fidelity-data-plane.md](fidelity-data-plane.md));
a fourth, the data behind "provisioned rate, right after", is fitted to that row. So the rows normal, right
after the restore, and provisioned rate right after agree by construction. The other rows show that each
cure, as Rewarm carries it out, leaves the volume warm."""
METHOD = """\
- Each ratio is to the normal state of the same kind of request, published and measured; {within:.0f} % off
  is allowed. The two normal rows are 1 by definition.
- All latencies of the volumes in this table are {slow_down} times the usual, and measured IOPS are what fio
  counted times {slow_down}: warm reads suffer from other work on this machine and cold ones do not, so at
  the usual speed a busy machine makes the ratio of the cold row too large (by
  31 % to 65 % in three earlier runs).
- The volumes have {size_gib} GiB, all blocks written, except for `dd` ({dd_gib} GiB, since {size_gib} GiB
  take hours) and for the provisioned rate: {rate_gib:.1f} GiB at {rate_mib_s} MiB/s. The article names
  neither its data nor its rate; this much was chosen because it is loaded some {rate_share:.0%} of the way
  through a run of {rate_seconds} s, which gives 945 IOPS on the average.
- 24 hours and 20 minutes are lab time. fio runs for {seconds} s, in real time, once for each row.
- Writes go to a scratch file of 256 MiB on ext4, never to a device. That writes do not wait for a fetch is
  an assumption of the model, taken from the published figure."""
COPY_NOTE = """\
Shown, not judged, at the usual latencies. Windows does not run here, so a reader with fio takes the place
of `Copy-Item`; the copy that the agent makes on Windows is tested under wine only. Published were copies
onto the restored volume, here it is read. The readers were chosen by what the published times suggest: the
2023 copy is bound by the disk that it comes from; the 2020 copy was slower than any reader in order is
here, and a reader block by block was taken because it comes near. They say what such a reader meets, not
how Windows copies."""
MOUNT_NOTE = """\
Published in January 2026 were EBS gp3, EFS and FSx for OpenZFS. EFS and FSx do not run here: volumes with
other limits stand in for them, and the figures are not held against the published ones. What is shown is
the table that `rewarm bench` prints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Everything that was measured."""

    facts: str
    """Day and machine."""
    method: Json
    rows: Sequence[Row]
    dd_mib_s: float | None
    copies: Sequence[CopyRow]
    mounts: Sequence[Json]

    @property
    def holds(self) -> bool:
        """Every ratio of the states is as published; copies and mounts are shown, not judged."""
        return bool(self.rows) and all(one.holds for one in self.rows)


def write(folder: Path, found: Results) -> Path:
    """The page with its pictures; equal results give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    draw(folder / PICTURE, found.rows)
    has_mounts = comparison.draw(folder / MOUNTS_PICTURE, found.mounts)
    parts = [
        "# Measurements",
        INTRODUCTION,
        found.facts,
        f"![IOPS in each state, published and measured]({PICTURE})",
        "## Random 4 KiB requests after a restore",
        markdown_table(STATE_COLUMNS, [_state(one) for one in found.rows]),
        METHOD.format(within=100 * WITHIN, **found.method),
        *_dd(found),
        *_copies(found),
        *(_mounts(found) if has_mounts else []),
    ]
    page = folder / PAGE
    page.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return page


STATE_COLUMNS = (
    "state", "published IOPS", "measured IOPS", "published ratio", "measured ratio", "off by", "within 25 %"
)  # fmt: skip


def _state(one: Row) -> list[str]:
    return [
        one.figure.text,
        f"{one.figure.iops:,.0f}",
        f"{one.iops:,.0f}",
        f"{one.published_ratio:.4f}",
        f"{one.ratio:.4f}",
        f"{one.deviation:+.0%}",
        "yes" if one.holds else "no",
    ]


def _dd(found: Results) -> list[str]:
    if found.dd_mib_s is None:
        return []
    published = f"published {PUBLISHED_DD_MIB_S:.1f} MiB/s (100 GiB in 53 min 52 s, what the model is set to)"
    return [f"`dd bs=1M` of the whole cold device:\n{published}, measured {found.dd_mib_s:.1f} MiB/s."]


def _copies(found: Results) -> list[str]:
    if not found.copies:
        return []
    cells = [
        [
            copy.reader.figure.text,
            f"{copy.reader.figure.ratio:.2f}",
            copy.reader.text,
            f"{copy.first_seconds:.1f} s, then {copy.second_seconds:.1f} s",
            f"{copy.ratio:.2f}",
            f"{copy.deviation:+.0%}",
            "yes" if copy.holds else "no",
        ]
        for copy in found.copies
    ]
    columns = ("copy", "published ratio", "reader here", "measured", "ratio", "off by", "within 25 %")
    return ["## The first copy of a file, and the second", COPY_NOTE, markdown_table(columns, cells)]


def _mounts(found: Results) -> list[str]:
    parts = ["## Mounts side by side", MOUNT_NOTE, f"![The mounts side by side]({MOUNTS_PICTURE})"]
    for pattern, runs in by_pattern(found.mounts).items():
        parts += [f"`{title(pattern)}`", markdown_table(COLUMNS, [row(run) for run in runs])]
    return parts
