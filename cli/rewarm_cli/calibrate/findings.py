"""What a calibration found: the table for people, and the file without anything that names an account."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rewarm_cli.calibrate.cloud import Where
from rewarm_cli.calibrate.measuring import Measured

Json = dict[str, Any]

FORMAT = 1
COLUMNS = ("what", "assumed", "measured", "interval", "consequence")
_PLANS = "estimates of every strategy"
_AGENT = "how fast the agent can read: the estimates of warm-up-agent and boosted-warm-up"
ROWS: dict[str, tuple[str, str, str]] = {
    "createSeconds": ("CreateVolume until available, s", "10", _PLANS),
    "attachSeconds": ("AttachVolume until attached, s", "5", _PLANS),
    "detachSeconds": ("DetachVolume until available, s", "-", "how long a replaced volume is away"),
    "snapshotSeconds": ("CreateSnapshot until completed, s", "-", "of a snapshot of this size only"),
    "deliverySeconds": ("SendCommand until it runs, s", "5", "estimates with the agent"),
    "metricDelaySeconds": (
        "a minute's end until CloudWatch has it, s", "60 to 180", "how late VolumeReadOps confirms",
    ),
    "statusLagSeconds": ("between two refreshes of Progress, s", "up to 300", "how late `completed` is seen"),
    "backgroundMibS": ("default initialization, MiB/s", "1.2", "the estimate of background"),
    "rateDelivered": ("share of a provisioned rate", "1", "the estimate of provisioned-rate"),
    "firstTouchMs": ("first touch alone, mean, ms", "91", _AGENT),
    "firstTouchP90Ms": ("first touch alone, 9 of 10, ms", "-", "how slow a cold volume is"),
    "warmReadMs": ("warm read of 4 KiB, median, ms", "0.6", "which limit verify.maxP99Ms can have"),
    "fetchConcurrency": ("first touches served at once", "64", _AGENT),
    "fetchUnitKib": ("what a read of 4 KiB loads, KiB", "512", _AGENT),
    "readAheadKib": ("loaded ahead of reads in a row, KiB", "-", "why dd is faster than its first touches"),
    "fsrEnablingSeconds": ("FSR `enabling`, s", "60", "the estimate of fast-snapshot-restore"),
    "fsrOptimizingSeconds": ("FSR `optimizing`, s", "60 min a TiB", "none: it says nothing of a TiB"),
    "fsrDisablingSeconds": ("FSR `disabling`, s", "-", "how soon a released one is gone"),
}  # fmt: skip
"""Each figure: what it is, what is assumed without it, and what it changes."""
ANSWERS = {
    "readsAdvanceProgress": ("reads advance Progress of a default volume", "not known"),
    "readWarmsBlock": ("a read of 4 KiB warms its 512 KiB", "not known"),
    "fsrCreditsBegin": ("credits fill from the state", "enabled, as the later one"),
    "initializationUsageType": ("price list has the initialization rate as", "nothing"),
}
NOT_MEASURED = (
    "Not measured: the delay of EventBridge's events and when AWS begins to bill fast snapshot restore, "
    "which a command cannot see; anything larger than this snapshot; a bad day."
)


def document(measured: Measured, where: Where, size_gib: int, now: float) -> Json:
    """The content of the file, and the body of PUT /calibration."""
    return {
        "format": FORMAT,
        "measuredOn": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d"),
        "region": where.region,
        "instanceType": where.instance_type,
        "volumeType": "gp3",
        "sizeGib": size_gib,
        "figures": {name: figure.document for name, figure in measured.figures.items()},
        **measured.answers,
        "errorCodes": measured.error_codes,
        "notMeasured": {name: reason[:200] for name, reason in measured.not_measured.items()},
    }


def rows(found: Json) -> Iterator[tuple[str, str, str, str, str]]:
    """The table's rows: what was measured, then what was not, with the reason."""
    for name, (what, assumed, consequence) in ROWS.items():
        if name in found["figures"]:
            figure = found["figures"][name]
            yield what, assumed, _number(figure["value"]), _interval(figure), consequence
        elif name in found["notMeasured"]:
            yield what, assumed, "-", "", found["notMeasured"][name]
    for name, (what, assumed) in ANSWERS.items():
        if found.get(name) is not None:
            value = {True: "yes", False: "no"}.get(found[name], found[name])
            yield what, assumed, str(value), "", ""
    for name, code in found["errorCodes"].items():
        yield f"error code: {name}", "-", code, "", ""


def _interval(figure: Json) -> str:
    return f"{_number(figure['low'])} to {_number(figure['high'])}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:.3g}"
