"""Carries out restores on the embedded AWS, one after the other, as a user does: POST, wait, look."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local import Json
from local.aws.host import Host
from local.tools.measurements.cases import Case
from local.tools.run.lab import Lab
from rewarm.domain.model import Strategy
from rewarm.domain.words.failures import explain

DETACH_SECONDS = 30.0
PAUSE_SECONDS = 0.1
HANGS_SECONDS = 900.0
"""Real time after which a restore is taken to hang."""
USUAL_INSTANCE, BOOSTED_INSTANCE = "m5.large", "m5.4xlarge"
"""A boost needs an instance whose baseline is above the volume's."""
HURRIED = {"readyWithinMinutes": 1}
MAX_P99_MS = 2_000
"""A busy machine makes some reads slow; this is about durations."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One restore: what was estimated before, and what it took."""

    case: Case
    p50_seconds: float
    p90_seconds: float
    actual_seconds: float
    basis_restores: int
    phases: tuple[Json, ...]
    real_seconds: float

    @property
    def error_percent(self) -> float:
        """Of what it took; above 0 where it was estimated too long."""
        return 100 * (self.p50_seconds / self.actual_seconds - 1)

    @property
    def is_within_p90(self) -> bool:
        """The promise held."""
        return self.actual_seconds <= self.p90_seconds


class SeriesError(RuntimeError):
    """A restore did not become ready; the message says which, and why."""


class Series:
    """Somebody who restores again and again, on the same two instances."""

    def __init__(self, host: Host) -> None:
        self._lab = Lab(host)
        self._host = host
        self._usual, self._boosted = (
            host.region.add_instance(instance_type=name) for name in (USUAL_INSTANCE, BOOSTED_INSTANCE)
        )

    def outcomes(self, cases: Sequence[Case]) -> Iterator[Outcome]:
        """Each as soon as it is there."""
        return (self._outcome(case) for case in cases)

    def _outcome(self, case: Case) -> Outcome:
        began = time.monotonic()
        boosted = case.strategy is Strategy.BOOSTED_WARM_UP
        request = {
            "source": {"snapshotId": self._snapshot(case)},
            "target": {"instanceId": self._boosted if boosted else self._usual},
            "objective": {"strategy": case.strategy.value, **(HURRIED if case.is_hurried else {})},
            "verify": {"maxP99Ms": MAX_P99_MS},
        }
        restore_id = self._lab.api.expect(202, "POST", "/restores", request)["restoreId"]
        self._wait(restore_id, case)
        report = self._report(restore_id)
        volume, plan = report["volumes"][0], report["plans"][0]["plan"]
        self._remove(volume["volumeId"])
        return Outcome(
            case=case,
            p50_seconds=volume["estimatedP50Seconds"],
            p90_seconds=volume["estimatedP90Seconds"],
            actual_seconds=volume["sincePlanSeconds"],
            basis_restores=plan["basis"]["restores"],
            phases=tuple(volume["phases"]),
            real_seconds=time.monotonic() - began,
        )

    def _snapshot(self, case: Case) -> str:
        return self._host.region.add_snapshot(size_gib=case.size_gib, extents=case.extents)

    def _wait(self, restore_id: str, case: Case) -> None:
        give_up = time.monotonic() + HANGS_SECONDS
        while (described := self._lab.execution(restore_id))["status"] == "RUNNING":
            if time.monotonic() > give_up:
                raise SeriesError(f"restore {case.number} still runs after {HANGS_SECONDS:.0f} s")
            time.sleep(PAUSE_SECONDS)
        if described["status"] != "SUCCEEDED":
            why = explain(str(described.get("error")), str(described.get("cause")))
            raise SeriesError(f"restore {case.number} ({case.strategy}): {why.sentence}")

    def _report(self, restore_id: str) -> Json:
        key = f"restores/{restore_id}/report.json"
        found = self._host.client("s3").get_object(Bucket=self._host.outputs["ArtifactsBucket"], Key=key)
        report: Json = json.loads(found["Body"].read())
        return report

    def _remove(self, volume_id: str) -> None:
        """It has been measured; the next one gets the room."""
        ec2 = self._host.client("ec2")
        ec2.detach_volume(VolumeId=volume_id)
        self._lab.clock.sleep(DETACH_SECONDS)
        ec2.delete_volume(VolumeId=volume_id)
