"""The live view: the story as it happens, in colour on a terminal and in plain lines anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TextIO

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from local import Json
from local.tools.run.live.bar import ProgressBar
from local.tools.run.live.details import detail
from local.tools.run.live.loop import Loop
from local.tools.run.recording import (
    ProgressSample,
    RestoreRecord,
    RunRecord,
    SetupStep,
    SlackMessage,
    StateVisit,
)
from local.tools.run.verdict import problems, verdict_text
from local.tools.run.wording import (
    TIME_NOTE,
    estimate_text,
    latency_rows,
    message_lines,
    money,
    offset_text,
    overhead_text,
    seconds_text,
)
from rewarm.domain.units import count_text, elapsed_text
from rewarm.page.text import strategy_text

PLAIN_COLUMNS = 120
QUIET_KINDS = {"Pass", "Choice", "Map"}
"""States that pass in no time and do nothing that anybody would miss."""


class View:
    """Writes to one stream; nothing here knows where the facts come from."""

    def __init__(self, stream: TextIO) -> None:
        self.console = Console(file=stream, highlight=False, soft_wrap=False)
        if not self.console.is_terminal:
            self.console.width = PLAIN_COLUMNS
        self._bar = ProgressBar(self.console)
        self._loop = Loop()

    def title(self) -> None:
        """What this is, and how its times are to be read."""
        self.console.print(
            "[bold]Rewarm[/] on the embedded AWS: an EBS snapshot back at full speed, and the proof."
        )
        self.console.print(f"[dim]{TIME_NOTE}[/]\n")

    def heading(self, text: str) -> None:
        """A new part of the story."""
        self._bar.stop()
        self.console.print()
        self.console.rule(f"[bold]{escape(text)}[/]", align="left")

    def say(self, text: str) -> None:
        """One sentence."""
        self.console.print(escape(text))

    def command(self, text: str) -> None:
        """Something to type, in one line that can be copied."""
        self.console.print(f"[dim]$[/] {escape(text)}", soft_wrap=True)

    def paste(self, text: str) -> None:
        """Lines for a shell, as they are."""
        self.console.print(text, soft_wrap=True, markup=False)

    @contextmanager
    def setup_step(self, what: str, run: RunRecord) -> Iterator[SetupStep]:
        """Time a step of the setting up and print its line when it is done; `detail` may be set in there."""
        step = SetupStep(what=what, detail="", seconds=0.0)
        began = monotonic()
        with self._waiting(what):
            yield step
        step.seconds = monotonic() - began
        run.setup.append(step)
        grid = Table.grid(padding=(0, 1))
        grid.add_column()
        grid.add_column(justify="right", width=8)
        grid.add_column(width=36)
        grid.add_column(ratio=1)
        grid.add_row("  [green]✓[/]", f"{step.seconds:.1f} s", escape(what), f"[dim]{escape(step.detail)}[/]")
        self.console.print(grid)

    def state(self, visit: StateVisit, started_at: float) -> None:
        """A state that is over; polls that find what the one before found are only counted."""
        if visit.kind in QUIET_KINDS:
            return
        for shown in self._loop.take(visit):
            if isinstance(shown, int):
                self.console.print(f"  [dim]{'':9} … {count_text(shown, 'more poll')} found the same[/]")
            else:
                self._state(shown, started_at)

    def _state(self, visit: StateVisit, started_at: float) -> None:
        at = offset_text(visit.entered_at - started_at)
        colour = (
            "red" if visit.failures or visit.kind == "Fail" else "yellow" if visit.kind == "Wait" else "cyan"
        )
        words = f"[dim]{seconds_text(visit.seconds)}[/]" if visit.kind == "Wait" else escape(detail(visit))
        grid = Table.grid(padding=(0, 1))
        grid.add_column(justify="right", width=9)
        grid.add_column(width=9)
        grid.add_column(width=27)
        grid.add_column(ratio=1)
        grid.add_row(
            f"[dim]{at}[/]", f"[dim]{visit.execution}[/]", f"[{colour}]{escape(visit.state)}[/]", words
        )
        self.console.print(grid)

    def progress(self, sample: ProgressSample) -> None:
        """How far the initialization is."""
        self._bar.show(sample)

    def slack(self, message: SlackMessage, started_at: float) -> None:
        """A message as it appears in the channel."""
        self._bar.pause()
        lines = message_lines(message.body)
        text = (
            "\n".join([f"[bold]{escape(lines[0])}[/]", *(escape(line) for line in lines[1:])])
            if lines
            else ""
        )
        title = f"Slack, {offset_text(message.at - started_at)}"
        self.console.print(
            Panel(text, title=title, title_align="left", border_style="magenta", padding=(0, 1))
        )

    def plan(self, plans: list[Json], summary: Json | None) -> None:
        """Every strategy with its time and price, and why it was taken or not."""
        for volume_plan in plans:
            if volume_plan.get("candidates"):
                self.console.print(_plan_table(volume_plan))
        if summary:
            old = " (more than 90 days old)" if summary.get("priceBookStale") else ""
            source = f"{summary['priceSource']}, as of {summary['priceBookAsOf'][:10]}{old}"
            self.console.print(f"[dim]Prices: {escape(source)}[/]")

    def ended(self, restore: RestoreRecord) -> None:
        """What became of a restore."""
        self._bar.stop()
        self._latency(restore)
        self._cost(restore)
        self._proof(restore)
        if restore.full_speed_seconds is not None:
            self.console.print(f"At full speed {elapsed_text(restore.full_speed_seconds)} after the request")
            self.console.print(overhead_text(restore.report, restore.full_speed_seconds), highlight=False)
        self.console.print(
            f"The workflow ended after {seconds_text(restore.seconds)} of lab time, "
            f"{seconds_text(restore.real_seconds)} in fact"
        )

    def finished(self, run: RunRecord, report: str) -> None:
        """The last words."""
        found = problems(run)
        self.heading("Result")
        self.console.print(f"Delivered and still there: {', '.join(run.delivered) or 'nothing'}.")
        kept = ["what the restores have kept"] if run.kept else []
        left = ", ".join([*run.left_running, *kept]) or "nothing"
        self.console.print(f"Also left running and still costing money: {escape(left)}.")
        for thing in run.kept:
            self.console.print(f"  {escape(thing)}", soft_wrap=True)
        for problem in found:
            self.console.print(f"[red]✗[/] {escape(problem)}")
        colour = "red" if found else "green"
        self.console.print(
            f"[bold {colour}]Verdict: {escape(verdict_text(run))}[/]. The run took {run.real_seconds:.0f} s."
        )
        self.console.print(f"Report: {escape(report)}", soft_wrap=True)

    def stop(self) -> None:
        """Leave the terminal as it was."""
        self._bar.stop()

    def _latency(self, restore: RestoreRecord) -> None:
        rows = latency_rows(restore)
        if not rows:
            return
        table = Table(title="Read latency", title_justify="left", title_style="bold")
        table.add_column("random 4 KiB reads")
        table.add_column("before", justify="right", style="red")
        table.add_column("after", justify="right", style="green")
        for row in rows:
            table.add_row(*row)
        self.console.print(table)

    def _cost(self, restore: RestoreRecord) -> None:
        planned = money(restore.plans[0]["plan"]["costUsd"]) if restore.plans else "-"
        metered = money(restore.metered_usd)
        self.console.print(f"[bold]Cost[/]: planned {planned}, metered by the Region {metered}")
        for part in restore.metered_parts:
            self.console.print(f"  [dim]{escape(_meter_text(part))}[/]")

    def _proof(self, restore: RestoreRecord) -> None:
        proof = restore.proof
        if restore.device is not None:
            found, wanted = (text[:16] for text in restore.device)
            told = f"is {found}…, as it was" if found == wanted else f"is {found}…, and should be {wanted}…"
            mark = "[green]✓[/]" if found == wanted else "[red]✗[/]"
            self.console.print(f"[bold]Proof[/]: {mark} the sha256 of the whole device {told}")
            if proof is None:
                return
        if proof is None:
            self.console.print("[bold]Proof[/]: [red]the volume could not be examined[/]")
            return
        mark = "[green]✓[/]" if proof.files_identical == proof.files and proof.files else "[red]✗[/]"
        self.console.print("[bold]Proof[/], taken from the volume itself:")
        self.console.print(
            f"  {mark} files identical to the source (sha256): {proof.files_identical:,} of {proof.files:,}"
        )
        for difference in proof.differences[:5]:
            self.console.print(f"    [red]{escape(difference)}[/]")
        if proof.read_blocks is None:
            self.console.print("  [yellow]![/] blocks read: not counted, the volume is a plain file here")
            return
        if not proof.written_blocks:
            self.console.print("  [green]✓[/] EBS had nothing to load: the volume was made of no snapshot")
            return
        for what, count in (("read to their last byte", proof.read_blocks), ("local", proof.fetched_blocks)):
            whole = count == proof.written_blocks
            loaded = "the others" if count else "them"
            mark, why = ("[green]✓[/]", "") if whole else ("[dim]·[/]", f" (EBS loaded {loaded} by itself)")
            self.console.print(f"  {mark} written blocks {what}: {count:,} of {proof.written_blocks:,}{why}")

    @contextmanager
    def _waiting(self, what: str) -> Iterator[None]:
        if not self.console.is_terminal:
            yield
            return
        with self.console.status(what):
            yield


def _plan_table(volume_plan: Json) -> Table:
    volume = volume_plan["volume"]
    title = f"Plan for {volume['snapshotId']} → {volume.get('instanceId') or volume['availabilityZone']}"
    table = Table(title=title, title_justify="left", title_style="bold", show_lines=False)
    table.add_column("strategy", no_wrap=True)
    for name in ("usable", "ready P50", "ready P90", "price"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("why", ratio=1)
    for candidate in volume_plan["candidates"]:
        chosen, separator = candidate["chosen"], "\n    " if candidate.get("boost") else " "
        table.add_row(
            f"{'→' if chosen else ' '} {strategy_text(candidate, separator=separator)}",
            estimate_text(candidate.get("usableSeconds")),
            estimate_text(candidate.get("readyP50Seconds")),
            estimate_text(candidate.get("readyP90Seconds")),
            money(candidate.get("costUsd")),
            escape(candidate["reason"]),
            style="bold green" if chosen else "" if candidate["feasible"] else "dim",
        )
    return table


def _meter_text(part: Json) -> str:
    note = f", {part['note']}" if part.get("note") else ""
    return f"{part['kind']} of {part['resource']}{note}: {money(part['usd'])}"
