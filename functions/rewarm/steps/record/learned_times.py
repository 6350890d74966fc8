"""How long the next restore takes, as far as this account's calibration and finished restores show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.contracts.base import parsed
from rewarm.contracts.benchmarks import Calibration, CalibrationAnswer, StoredCalibration
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import RestoreError
from rewarm.domain.model import Caller, PriceBook
from rewarm.domain.time.calibration import calibrated
from rewarm.domain.time.history import learned
from rewarm.domain.time.measured import Likeness, Measured
from rewarm.domain.time.timings import PRIORS, Timings
from rewarm.ports import JsonObject
from rewarm.ports.restores import History
from rewarm.steps.record.leases import known_leases


def known_records(history: History) -> list[Measured]:
    """The records of finished restores.

    Empty if the history cannot be read: a plan by the shipped estimates is better than no restore.
    """
    try:
        return history.records()
    except RestoreError:
        return []


def known_priors(history: History) -> Timings:
    """The shipped estimates, with what a calibration of this account measured in their place.

    A calibration that cannot be read, or that another version wrote, stops no restore.
    """
    try:
        stored = stored_calibration(history).calibration
    except RestoreError:
        return PRIORS
    return PRIORS if stored is None else calibrated(stored.of_domain())


def timings_of(
    volume: VolumeAssignment, records: Sequence[Measured], now: datetime, priors: Timings = PRIORS
) -> Timings:
    """The estimates, corrected by records of restores like this one."""
    return learned(records, likeness(volume), now=now, priors=priors)


def stored_calibration(history: History) -> StoredCalibration:
    """The latest calibration. Raises InvalidRequestError if another version wrote it."""
    kept = history.calibration()
    if kept is None:
        return StoredCalibration(calibration=None, stored_at=None)
    return parsed(StoredCalibration, kept)


def get_calibration(history: History, book: PriceBook, *, stack: str) -> CalibrationAnswer:
    """GET /calibration. Raises InvalidRequestError if another version wrote it."""
    return CalibrationAnswer(
        **vars(stored_calibration(history)),
        stack=stack,
        fsr_usd_per_hour=book.fsr_usd_per_hour,
        rate_usd_per_gib_mib_s=book.rate_usd_per_gib_mib_s,
        storage_usd_per_gib_month=book.storage_usd_per_gib_month["gp3"],
        prices_as_of=book.as_of,
        leases=list(known_leases(history).values()),
    )


def put_calibration(body: JsonObject, history: History, *, by: Caller, now: datetime) -> StoredCalibration:
    """PUT /calibration: the next estimates use it. Raises InvalidRequestError."""
    stored = StoredCalibration(calibration=parsed(Calibration, body), stored_at=now, stored_by=by)
    history.keep_calibration(stored.to_json())
    return stored


def likeness(volume: VolumeAssignment) -> Likeness:
    """What two restores must share so that the times of one help to estimate the other."""
    return Likeness(volume.volume.volume_type, volume.availability_zone, volume.instance_type)
