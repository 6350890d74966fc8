"""How long the next restore takes, as far as this account's calibration and finished restores show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from rewarm.contracts.after import After
from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.errors import RestoreError
from rewarm.domain.time.history import ApplicationTimes, application_times, learned
from rewarm.domain.time.measured import Likeness, Measured
from rewarm.domain.time.timings import PRIORS, Timings
from rewarm.ports import JsonObject
from rewarm.ports.restores import History


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
        kept = history.calibration()
        return PRIORS if kept is None else _calibrated(kept)
    except RestoreError:
        return PRIORS


def _calibrated(kept: JsonObject) -> Timings:
    """Imports the calibration's modules only here, because few accounts have one."""
    from rewarm.domain.time.calibration import calibrated  # noqa: PLC0415
    from rewarm.steps.record.calibrations import stored  # noqa: PLC0415

    calibration = stored(kept).calibration
    return PRIORS if calibration is None else calibrated(calibration.of_domain())


def timings_of(
    volume: VolumeAssignment, records: Sequence[Measured], now: datetime, priors: Timings = PRIORS
) -> Timings:
    """The estimates, corrected by records of restores like this one."""
    return learned(records, likeness(volume), now=now, priors=priors)


def known_application(
    after: After | None, volume: VolumeAssignment, history: History, now: datetime
) -> ApplicationTimes | None:
    """How long the application takes to come back, as far as finished restores and drills show."""
    if after is None:
        return None
    return application_times(known_records(history), after.limits, likeness(volume), now=now)


def likeness(volume: VolumeAssignment) -> Likeness:
    """What two restores must share so that the times of one help to estimate the other."""
    return Likeness(volume.volume.volume_type, volume.availability_zone, volume.instance_type)
