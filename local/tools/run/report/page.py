"""Puts the report together from the recording of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from local import Json
from local.tools.run import wording
from local.tools.run.live.details import BLOCK_BYTES, detail
from local.tools.run.recording import RestoreRecord, RunRecord, StateVisit
from local.tools.run.report import figures
from local.tools.run.verdict import problems, restore_problems, strategy, verdict_text
from rewarm.domain.units import elapsed_text, size_text
from rewarm.domain.words.failures import explain
from rewarm.page import STYLE
from rewarm.page.text import strategy_text

HERE = Path(__file__).parent


def write_report(run: RunRecord, folder: Path) -> Path:
    """Write the report, named after the first restore, and the restores' own pages; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    name = run.restores[0].restore_id if run.restores else "run"
    path = folder / f"{name}.html"
    path.write_text(render(run), encoding="utf-8")
    for restore in run.restores:
        if restore.page:
            (folder / page_name(restore)).write_text(restore.page, encoding="utf-8")
    return path


def page_name(restore: RestoreRecord) -> str:
    """File of the page that Rewarm itself made, beside the report of the run."""
    return f"{restore.restore_id}-restore.html"


def render(run: RunRecord) -> str:
    """The page."""
    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        {
            "size": size_text,
            "seconds": wording.seconds_text,
            "money": wording.money,
        }
    )
    facts = {
        "style": STYLE.read_text(encoding="utf-8"),
        "verdict": verdict_text(run),
        "problems": problems(run),
        "run": run,
        "snapshot": _snapshot(run),
        "restores": [_restore(restore, number) for number, restore in enumerate(run.restores, 1)],
        "time_note": wording.TIME_NOTE,
    }
    return environment.get_template("page.html.j2").render(facts)


def _snapshot(run: RunRecord) -> Json | None:
    if run.snapshot is None:
        return None
    written = run.snapshot.written_blocks * BLOCK_BYTES
    return {
        "id": run.snapshot.snapshot_id,
        "size": f"{run.snapshot.size_gib} GiB",
        "written": f"{size_text(written)} in {run.snapshot.written_blocks:,} blocks of 512 KiB",
        "files": f"{run.snapshot.files:,} files in an ext4 file system",
    }


def _restore(restore: RestoreRecord, number: int) -> Json:
    name = f"restore-{number}"
    plan = restore.plans[0]["plan"] if restore.plans else None
    return {
        "record": restore,
        "anchor": name,
        "ready": not list(restore_problems(restore)),
        "outcome": _outcome(restore),
        "strategy": strategy_text(plan) if plan else strategy(restore) or "-",
        "why": plan["why"] if plan else "",
        "plan": plan,
        "facts": _facts(restore, plan),
        "messages": [_message(restore, message.at, message.body) for message in restore.messages],
        "timeline": [_line(restore, visit) for visit in restore.visits if _is_shown(visit)],
        "failure": explain(restore.error, restore.cause).sentence if restore.error else "",
        "readiness": figures.readiness(restore, f"{name}-readiness"),
        "page": page_name(restore) if restore.page else None,
    }


def _outcome(restore: RestoreRecord) -> str:
    if restore.full_speed_seconds is None or list(restore_problems(restore)):
        return f"not ready, ended after {wording.seconds_text(restore.seconds)}"
    return f"at full speed {elapsed_text(restore.full_speed_seconds)} after the request"


def _facts(restore: RestoreRecord, plan: Json | None) -> list[tuple[str, str]]:
    proof = restore.proof
    facts = [
        ("started by", restore.trigger),
        ("restore", restore.restore_id),
        ("volume", restore.volume_id or "-"),
        ("started", datetime.fromtimestamp(restore.started_at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")),
        ("outcome", _outcome(restore)),
        (
            "workflow ended",
            f"after {wording.seconds_text(restore.seconds)} of lab time, in {restore.real_seconds:.1f} s",
        ),
        ("cost", wording.money(plan["costUsd"]) if plan else "-"),
    ]
    if proof is not None:
        facts.append(
            ("files identical to the source", f"{proof.files_identical:,} of {proof.files:,} (sha256)")
        )
        read = (
            "not counted"
            if proof.read_blocks is None
            else f"{proof.read_blocks:,} of {proof.written_blocks:,}"
        )
        facts.append(("written blocks read by the instance", read))
        facts.append(
            ("written blocks that are local", f"{proof.fetched_blocks:,} of {proof.written_blocks:,}")
        )
    return facts


def _message(restore: RestoreRecord, at: float, body: Json) -> Json:
    lines = wording.message_lines(body)
    return {"at": wording.offset_text(at - restore.started_at), "title": lines[0], "lines": lines[1:]}


def _is_shown(visit: StateVisit) -> bool:
    return visit.kind in {"Task", "Wait", "Fail", "Succeed"}


def _line(restore: RestoreRecord, visit: StateVisit) -> Json:
    return {
        "at": wording.offset_text(visit.entered_at - restore.started_at),
        "execution": visit.execution,
        "state": visit.state,
        "kind": visit.kind,
        "took": wording.seconds_text(visit.seconds),
        "detail": detail(visit),
        "failed": bool(visit.failures) or visit.kind == "Fail",
    }
