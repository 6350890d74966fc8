"""What a calibration has measured, and its lease: what it has made and will remove, by its own account.

Once a lease is over, the sweeper ends what it names. This side notes when a lease began, not the caller: so
nobody can have an older thing removed.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime, timedelta

from rewarm.contracts.base import parsed
from rewarm.contracts.benchmarks import (
    Calibration,
    CalibrationAnswer,
    CalibrationLease,
    KeptLease,
    StoredCalibration,
)
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import Caller, PriceBook
from rewarm.domain.units import duration_text, iso
from rewarm.domain.volume.proof import CLOCKS_APART
from rewarm.ports import JsonObject
from rewarm.ports.restores import History

LEASE = timedelta(minutes=20)
"""`rewarm calibrate` renews it every 5 minutes. So a killed one costs little more."""
LONGEST = timedelta(hours=12)
"""A calibration takes an hour. What is made later does not belong to it."""


def stored(kept: JsonObject | None) -> StoredCalibration:
    """The latest calibration. Raises InvalidRequestError if another version wrote it."""
    if kept is None:
        return StoredCalibration(calibration=None, stored_at=None)
    return parsed(StoredCalibration, kept)


def get_calibration(history: History, book: PriceBook, *, stack: str) -> CalibrationAnswer:
    """GET /calibration. Raises InvalidRequestError if another version wrote it."""
    return CalibrationAnswer(
        **vars(stored(history.calibration())),
        stack=stack,
        fsr_usd_per_hour=book.fsr_usd_per_hour,
        rate_usd_per_gib_mib_s=book.rate_usd_per_gib_mib_s,
        storage_usd_per_gib_month=book.storage_usd_per_gib_month["gp3"],
        prices_as_of=book.as_of,
        leases=list(known_leases(history).values()),
    )


def put_calibration(body: JsonObject, history: History, *, by: Caller, now: datetime) -> StoredCalibration:
    """PUT /calibration: the next estimates use it. Raises InvalidRequestError."""
    made = StoredCalibration(calibration=parsed(Calibration, body), stored_at=now, stored_by=by)
    history.keep_calibration(made.to_json())
    return made


def put_lease(
    calibration_id: str, body: JsonObject, history: History, *, by: Caller, now: datetime
) -> KeptLease:
    """PUT /calibrations/{calibrationId}. Raises InvalidRequestError."""
    asked = parsed(CalibrationLease, body)
    before = known_leases(history).get(calibration_id)
    if before is not None and now >= before.started_at + LONGEST:
        raise InvalidRequestError(
            f"{calibration_id} began over {duration_text(LONGEST.total_seconds())} ago; begin another one",
            field="calibrationId",
        )
    started_at = before.started_at if before else now
    times = {"startedAt": iso(started_at), "expiresAt": iso(now + LEASE)}
    own = {"calibrationId": calibration_id, **times, "askedBy": asdict(by)}
    lease = parsed(KeptLease, {**asked.to_json(), **own})
    history.keep_lease(calibration_id, lease.to_json())
    return lease


def known_leases(history: History) -> dict[str, KeptLease]:
    """The leases by calibration. One that somebody has changed to something else counts as missing."""
    found = {}
    for name, kept in history.leases().items():
        try:
            found[name] = parsed(KeptLease, kept)
        except InvalidRequestError:
            continue
    return found


def covers(lease: KeptLease, made_at: datetime) -> bool:
    """Whether a thing was made while the calibration ran."""
    return lease.started_at - CLOCKS_APART <= made_at <= lease.expires_at + CLOCKS_APART
