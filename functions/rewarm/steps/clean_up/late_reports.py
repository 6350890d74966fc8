"""The report of a restore that ended ready without one, because its state `Report` could not write it.

Such a restore stays noted as running, which is how the sweeper finds it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from rewarm.domain.errors import RestoreError
from rewarm.domain.units import iso
from rewarm.domain.volume.leftovers import ExecutionEnd
from rewarm.ports import JsonObject
from rewarm.ports.restores import RestoreTable
from rewarm.steps.clean_up.sweep_reports import PagePorts, report_ready
from rewarm.steps.clean_up.swept import Swept
from rewarm.steps.record.records import Status, indexes, parsed_time

LATE_REPORTS = "reports"
"""Their name among the sweeps."""
PATIENCE = timedelta(days=1)
"""What could not be written for so long is not tried again."""


def write_late_report(
    restore_id: str,
    record: JsonObject,
    ending: ExecutionEnd,
    *,
    now: datetime,
    ports: PagePorts,
) -> Swept | None:
    """`ending` where the next sweep tries again; None where there is nothing to write, or no patience."""
    if not is_owed(record, ending):
        return None
    finished_at = _finish(restore_id, record, now, ports.table)
    try:
        report_ready(restore_id, record, finished_at=finished_at, ports=ports)
    except (RestoreError, ValueError, LookupError) as error:
        if now - finished_at > PATIENCE:
            return None
        return Swept(LATE_REPORTS, restore_id, "ending", f"its report cannot be written yet: {error}")
    ports.table.update(restore_id, {"reportFailure": None})
    return Swept(LATE_REPORTS, restore_id, "ended", "its report was missing, and is written")


def _finish(restore_id: str, record: JsonObject, now: datetime, table: RestoreTable) -> datetime:
    """When it was ready, as far as anybody knows: noted once, also where nobody could be told.

    From then on its devices are free, whatever becomes of the report.
    """
    known = parsed_time(record.get("finishedAt"))
    if known is None or record.get("status") != Status.READY:
        table.update(restore_id, {"status": Status.READY.value, "finishedAt": iso(known or now)})
    return known or now


def is_owed(record: JsonObject, ending: ExecutionEnd) -> bool:
    """A restore with volumes succeeds only where all of them are ready; a dry run has none to report on."""
    dry_run = (record.get("request") or {}).get("dryRun")
    return (
        ending.status == "SUCCEEDED" and bool(indexes(record)) and not dry_run and not record.get("reportKey")
    )
