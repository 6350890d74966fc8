"""The plan on the terminal: the facts, every strategy with its arithmetic and verdict, the what-if."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table

from rewarm.charts.wording import alike, offer_text
from rewarm.contracts.plans import FrontierOffer, PlannedVolume, PlanResult, Price
from rewarm.contracts.values import ByHand, Candidate, PlanSummary
from rewarm.domain.plan.allocation import MOST_WITH_EVERY_STEP
from rewarm.domain.plan.cost import CostPart
from rewarm.domain.units import count_text, duration_text, price_text, size_text, usd_text
from rewarm.domain.words.schedule import strategy_text
from rewarm_cli import views
from rewarm_cli.output import tell

PLAIN_COLUMNS = 124
SAID_BY_ITSELF = frozenset({"", "strategy", "way", "price of"})
"""Columns whose values need no name before them."""
LEAST_WRAPPED = 24
"""Characters of a sentence's column."""
OFFERS_OF_A_RUN = 6
"""Of the hundreds of rates that a deadline can call for."""
PRICE_NAMES = {
    "fsrUsdPerHour": "fast snapshot restore, hour",
    "rateUsdPerGibMibS": "initialization rate, GiB x MiB/s",
    "listBlocksUsdPerThousand": "ListSnapshotBlocks, 1,000 requests",
    "getBlocksUsdPerThousand": "GetSnapshotBlock, 1,000 blocks",
    "packsUsdPerGibMonth": "packs in the bucket, GiB and month",
    "functionsUsdPerGbSecond": "functions, GB and second",
    "functionsUsdPerMillion": "functions, million runs",
    "transitionsUsdPerThousand": "transitions of states, 1,000",
    "snapshotUsdPerGibMonth": "snapshots, GiB and month",
    "cloneUsdPerGib": "volume clone, GiB",
    "iopsUsdPerMonth": "IOPS, month",
    "throughputUsdPerMibSMonth": "MiB/s, month",
}


class View:
    """Writes to one stream."""

    def __init__(self, stream: TextIO) -> None:
        self.console = Console(file=stream, highlight=False, soft_wrap=False)
        if not self.console.is_terminal:
            self.console.width = PLAIN_COLUMNS

    def say(self, text: str) -> None:
        """One sentence."""
        tell(self.console, escape(text))

    def plan(self, result: PlanResult, *, explain: bool = False) -> None:
        """Facts, table and choice of one volume; of several, their schedule. Then the prices behind them."""
        for group in _of_the_same_facts(result.plans):
            self._table(facts_table(group))
        if len(result.plans) == 1:
            self._table(strategies_table(result.plans[0], result.summary.by_hand))
        else:
            self._table(schedule_table(result.summary))
            for line in views.schedule_lines(result.summary.to_json()):
                self.say(line)
        if explain:
            self._explain(result)
        for line in views.summary_lines(result.summary.to_json(), several=len(result.plans) > 1):
            self.say(line)
        for line in views.rewind_lines([plan.to_json() for plan in result.plans]):
            self.say(line)
        self._table(prices_table(result.prices))

    def _explain(self, result: PlanResult) -> None:
        """Of several volumes, every strategy as if all took it; and when each way is right."""
        for group in alike(result.plans) if len(result.plans) > 1 else ():
            self.say(f"Each of {count_text(len(group), 'volume')}, if all took the same way:")
            self._table(strategies_table(group[0]))
        table = _table("Ways to full speed")
        for name in ("way", "what people do for it", "right when"):
            table.add_column(name, no_wrap=name == "way")
        for way in result.ways:
            table.add_row(way.name, way.effort, way.right_when)
        self._table(table)

    def what_if(self, result: PlanResult) -> None:
        """The price of every deadline."""
        table = frontier_table(result.frontier)
        if len(result.plans) > MOST_WITH_EVERY_STEP:
            table.caption = "Not every step: a mix for a deadline between two of these may cost less."
            table.caption_justify = "left"
        self._table(table)

    def _table(self, table: Table) -> None:
        """No figure is cut: where the columns have no room beside each other, each row becomes lines."""
        for column in table.columns:
            cells = (column.header, *column.cells) if column.no_wrap else ()
            widths = (self.console.measure(cell).maximum for cell in cells)
            column.min_width = max(widths, default=LEAST_WRAPPED)
        unlimited = self.console.options.update(max_width=10_000)
        if Measurement.get(self.console, unlimited, table).minimum <= self.console.width:
            self.console.print(table)
            return
        if table.title:
            self.console.print(f"[bold]{table.title}[/]")
        for figures, below in _as_lines(table):
            self.console.print(figures)
            for text in below:
                self.console.print(Padding(text, (0, 0, 0, 4), expand=False))
        if table.caption:
            self.console.print(table.caption)

    def written(self, paths: Iterable[str]) -> None:
        """Where the pictures are."""
        for path in paths:
            self.say(f"Picture: {path}")


def _as_lines(table: Table) -> Iterator[tuple[str, list[str]]]:
    """Of each row the figures with their names, and what needs lines of its own."""
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        figures, below = [], []
        for column, cell in zip(table.columns, map(str, cells), strict=True):
            text = " ".join(cell.split())
            if not column.no_wrap or column.header == "schedule":
                below += cell.splitlines()
            elif text not in {"", "-"}:
                figures.append(text if column.header in SAID_BY_ITSELF else f"{column.header} {text}")
        yield ", ".join(figures), below


def _of_the_same_facts(plans: Iterable[PlannedVolume]) -> list[list[PlannedVolume]]:
    """Volumes from one snapshot to one target, and there to one EBS card."""
    groups: dict[object, list[PlannedVolume]] = {}
    for planned in plans:
        volume = planned.volume
        target = (volume.instance_id or volume.availability_zone, volume.card)
        groups.setdefault((volume.snapshot_id, target, volume.data_bytes), []).append(planned)
    return list(groups.values())


def facts_table(group: Sequence[PlannedVolume]) -> Table:
    """What the estimates follow from."""
    first = group[0]
    volume, target = first.volume, first.volume.instance_id or first.volume.availability_zone
    number = f"{len(group)} volumes, each: " if len(group) > 1 else ""
    table = _table(f"{number}{volume.snapshot_id} → {target}")
    table.show_header = False
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for name, value in facts_lines(first):
        table.add_row(name, escape(value))
    return table


def facts_lines(planned: PlannedVolume) -> list[tuple[str, str]]:
    """(what, how much)."""
    facts, volume_type = planned.facts, planned.volume.volume.volume_type
    limits, instance, fast = facts.volume_limits, facts.instance_limits, facts.fast_snapshot_restore
    credit = "" if fast.credits is None else f", {fast.credits:g} credits"
    left = facts.quotas_left
    quotas = (
        f"{count_text(left.fast_snapshot_restores, 'snapshot')} with fast snapshot restore, "
        f"{left.initialization_rate_mib_s:,} MiB/s of initialization rate, "
        f"{count_text(left.volume_clones, 'clone')}"
    )
    lines = [
        ("data", f"{size_text(facts.data_bytes)} on a volume of {facts.snapshot_size_gib:,} GiB"),
        ("written blocks", size_text(facts.written_bytes)),
        (
            "volume",
            f"{volume_type}: {limits.iops:,} IOPS, {_mib_s(limits.sustained_mib_s, limits.burst_mib_s)}",
        ),
        ("instance", "none: the volume goes into the zone alone"),
        ("fast snapshot restore", f"{fast.state}{credit}"),
        ("quotas left", quotas),
        ("estimates rest on", bases_text(planned.candidates)),
    ]
    if instance is not None:
        speed = _mib_s(instance.baseline_throughput_mib_s, instance.maximum_throughput_mib_s)
        agent = "" if facts.agent_available else "; no agent for it"
        card = "" if instance.card is None else f", EBS card {instance.card}"
        lines[3] = ("instance", f"{instance.instance_type}{card}: {speed} to EBS{agent}")
    return lines


def bases_text(candidates: Sequence[Candidate]) -> str:
    """`shipped priors`; where an account has a history or a calibration, for which strategies."""
    learned = [
        f"{count_text(candidate.basis.restores, 'restore')} of this account ({candidate.strategy})"
        for candidate in candidates
        if candidate.basis.source == "history"
    ]
    measured = [candidate.strategy for candidate in candidates if candidate.basis.source == "calibration"]
    if measured:
        learned.append(f"measured here ({', '.join(measured)})")
    return ", ".join(learned) or "shipped priors"


def schedule_table(summary: PlanSummary) -> Table:
    """A line for each group of alike volumes, then all together, and by hand."""
    columns, rows = views.schedule_table(summary.to_json())
    table = _table(views.schedule_heading(summary.to_json()))
    for name in columns:
        table.add_column(name, justify="right" if name in views.SCHEDULE_RIGHT else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(escape, row), style="bold" if "together" in row else "")
    return table


def strategies_table(planned: PlannedVolume, by_hand: Sequence[ByHand] = ()) -> Table:
    """Every strategy with its verdict."""
    table = _table("")
    table.add_column("strategy", no_wrap=True)
    for name in ("usable", "P50", "P90", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict, and how the cost adds up", ratio=1)
    every = common_parts(planned.candidates)
    for candidate in planned.candidates:
        own = [part for part in candidate.cost_parts if part not in every]
        table.add_row(*_row(candidate, own), style=_style(candidate))
    for way in by_hand:
        effort = f"{way.effort[:1].upper()}{way.effort[1:]}.\n[dim]{escape(way.command)}[/]"
        time = duration_text(way.ready_seconds)
        table.add_row(f"  by hand, {way.program}", "", time, "not known", usd_text(way.cost_usd), effort)
    if every:
        table.caption = f"Each cost includes {parts_text(every)}."
        table.caption_justify = "left"
    return table


def common_parts(candidates: Sequence[Candidate]) -> list[CostPart]:
    """What every strategy that can be had costs alike."""
    first, *others = [candidate.cost_parts for candidate in candidates if candidate.feasible] or [[]]
    return [part for part in first if all(part in parts for parts in others)]


def parts_text(parts: Iterable[CostPart]) -> str:
    """Each sum with its arithmetic."""
    return "; ".join(f"{part.item}: {part.arithmetic} = {usd_text(part.usd)}" for part in parts)


def _row(candidate: Candidate, parts: Sequence[CostPart]) -> tuple[str, ...]:
    times = (candidate.usable_seconds, candidate.ready_p50_seconds, candidate.ready_p90_seconds)
    manner = candidate.strategy, candidate.initialization_rate_mib_s, candidate.boost
    return (
        f"{'→' if candidate.chosen else ' '} " + strategy_text(*manner, separator="\n    "),
        *("-" if seconds is None else duration_text(seconds) for seconds in times),
        "-" if candidate.cost_usd is None else usd_text(candidate.cost_usd),
        escape(candidate.reason + views.kept_on_text(candidate.to_json()))
        + (f"\n[dim]{escape(parts_text(parts))}[/]" if parts else ""),
    )


def _style(candidate: Candidate) -> str:
    return "bold green" if candidate.chosen else "" if candidate.feasible else "dim"


def frontier_table(offers: Sequence[FrontierOffer]) -> Table:
    """The least cost of each deadline; of many offers of one strategy, some."""
    table = _table("What other deadlines cost")
    table.add_column("deadline from", justify="right", no_wrap=True)
    table.add_column("cost", justify="right", no_wrap=True)
    table.add_column("strategy", ratio=1)
    if offers:
        table.add_row(f"under {duration_text(offers[0].deadline_seconds)}", "-", "no strategy is in time")
    shown = {duration_text(offer.deadline_seconds): offer for offer in shown_offers(offers)}
    for offer in shown.values():  # of those that read the same, the last: it holds from that time on
        table.add_row(
            duration_text(offer.deadline_seconds),
            usd_text(offer.cost_usd),
            offer_text(offer.choices, rates=True),
        )
    return table


def shown_offers(offers: Sequence[FrontierOffer]) -> Iterator[FrontierOffer]:
    """The first and the last of each run of the same strategies, and some between."""
    for _, grouped in groupby(offers, key=lambda offer: offer_text(offer.choices)):
        run = list(grouped)
        steps = min(OFFERS_OF_A_RUN, len(run)) - 1
        places = {round(step * (len(run) - 1) / steps) for step in range(steps + 1)} if steps else {0}
        yield from (run[place] for place in sorted(places))


def prices_table(prices: Sequence[Price]) -> Table:
    """The figures, each with source and date; old ones marked."""
    table = _table("Prices, US dollars")
    for name in ("price of", "per unit", "as of", "source"):
        table.add_column(name, justify="right" if name == "per unit" else "left", no_wrap=name != "source")
    for price in prices:
        mark = " [yellow](over 90 days old)[/]" if price.stale else ""
        name = price_name(price.name)
        table.add_row(name, price_text(price.usd), f"{price.as_of:%Y-%m-%d}", escape(price.source) + mark)
    return table


def price_name(name: str) -> str:
    """In words."""
    kind, _, volume_type = name.partition(".")
    return f"{volume_type} {PRICE_NAMES.get(kind, kind)}".strip()


def _mib_s(least: float | None, most: float | None) -> str:
    """`125 MiB/s`, `75 to 1,192 MiB/s`."""
    if least is None or most is None:
        return "unknown throughput"
    return f"{least:,.0f} MiB/s" if round(least) == round(most) else f"{least:,.0f} to {most:,.0f} MiB/s"


def _table(title: str) -> Table:
    return Table(title=title or None, title_justify="left", title_style="bold")
