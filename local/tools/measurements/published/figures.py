"""What was published, and how a measurement is held against it."""

from __future__ import annotations

from dataclasses import dataclass

WITHIN = 0.25
"""A measured ratio may be off by this share of the published one."""
NORMAL, WRITE_NORMAL = "normal", "write-normal"


@dataclass(frozen=True, slots=True)
class Figure:
    """IOPS of 4 KiB requests in one state of a gp3 volume of 100 GB, 3,000 IOPS and 125 MB/s (2025)."""

    name: str
    text: str
    iops: float
    base: str = NORMAL
    """The state that its ratio is to."""


FIGURES = (
    Figure(NORMAL, "random reads, normal", 1_633),
    Figure("restored", "random reads, right after the restore", 11),
    Figure("dd", "random reads, after `dd bs=1M` of the whole device", 1_406),
    Figure("fsr", "random reads, fast snapshot restore, right after", 1_463),
    Figure("rate-first", "random reads, provisioned rate, right after", 945),
    Figure("rate-later", "random reads, provisioned rate, 20 minutes later", 1_611),
    Figure("day", "random reads, left alone 24 hours", 1_617),
    Figure(WRITE_NORMAL, "random writes, normal", 2_979, WRITE_NORMAL),
    Figure("write-restored", "random writes, right after the restore", 2_767, WRITE_NORMAL),
)
PUBLISHED_DD_MIB_S = 100 * 1024 / (53 * 60 + 52)
"""dd of the whole device, 100 GiB in 53 min 52 s: 31.7 MiB/s."""


@dataclass(frozen=True, slots=True)
class FigureCopy:
    """A file copied on Windows onto a volume just restored, and once more."""

    name: str
    text: str
    size_gib: int
    first_seconds: float
    second_seconds: float

    @property
    def ratio(self) -> float:
        """The first time to the second."""
        return self.first_seconds / self.second_seconds


COPIES = (
    FigureCopy("copy-2023", "30 GiB, gp3 60 GB (2023)", 30, 13 * 60 + 39, 8 * 60 + 22),
    FigureCopy("copy-2020", "10 GiB, gp2 120 GB (2020)", 10, 22 * 60 + 56.65, 79.341),
)


@dataclass(frozen=True, slots=True)
class Row:
    """One published figure with what was measured here."""

    figure: Figure
    iops: float
    published_ratio: float
    ratio: float

    @property
    def deviation(self) -> float:
        """Of the ratio, as a share of the published one."""
        return self.ratio / self.published_ratio - 1

    @property
    def holds(self) -> bool:
        """The same shape as published."""
        return abs(self.deviation) <= WITHIN


def rows(measured: dict[str, float]) -> list[Row]:
    """In the order of FIGURES; `measured` is IOPS by the figure's name."""
    published = {figure.name: figure.iops for figure in FIGURES}
    return [
        Row(
            figure,
            measured[figure.name],
            figure.iops / published[figure.base],
            measured[figure.name] / measured[figure.base],
        )
        for figure in FIGURES
        if figure.name in measured and figure.base in measured
    ]
