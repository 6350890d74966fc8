"""The scenario table: never ready while cold, and ready at most 90 s of lab time after it truly is."""

from __future__ import annotations

import pytest

from rewarm.domain.model import Strategy
from tests.local.aws.region.readiness import readiness_faults as faults
from tests.local.aws.region.readiness.readiness_faults import region
from tests.local.aws.region.readiness.readiness_scenes import BOUND_SECONDS, Scene, follow

RATE, BACKGROUND = Strategy.PROVISIONED_RATE, Strategy.BACKGROUND
LATE = region(metric_delay_seconds=(180.0, 180.0))

BECOME_READY = [
    Scene("agent: everything as it should be"),
    Scene("agent: metrics late by 3 minutes", region=LATE),
    Scene("agent: no metrics at all", metrics=faults.missing),
    Scene("agent: every other minute is missing", metrics=faults.every_other_minute),
    Scene("agent: datapoints come twice", metrics=faults.doubled),
    Scene("agent: datapoints were summed twice", metrics=faults.summed_twice),
    Scene("agent: datapoints in reverse", metrics=faults.reversed_order),
    Scene("agent: datapoints of another volume", metrics=faults.with_another_volumes, neighbour=True),
    Scene("agent: says nothing until its end", silent=True),
    Scene("agent: says nothing, no events, no metrics", silent=True, events=faults.lost,
          metrics=faults.missing),
    Scene("agent: an application reads all the time", application=True),
    Scene("agent: an application reads, metrics late", application=True, region=LATE),
    Scene("agent: an application reads, sums doubled", application=True, metrics=faults.summed_twice),
    Scene("agent: an application reads, no metrics", application=True, metrics=faults.missing),
    Scene("agent: events lost", events=faults.lost),
    Scene("agent: events doubled", events=faults.twice),
    Scene("agent: boosted, an application reads", Strategy.BOOSTED_WARM_UP, application=True),
    Scene("rate: everything as it should be", RATE, 16, region()),
    Scene("rate: completed with progress 75", RATE, 16, region(), status=faults.completed_at_75),
    Scene("rate: progress 100 while initializing", RATE, 16, region(), status=faults.progress_ahead),
    Scene("rate: an application reads all the time", RATE, 16, region(), application=True),
    Scene("rate: events lost", RATE, 16, region(), events=faults.lost),
    Scene("rate: events doubled", RATE, 16, region(), events=faults.twice),
    Scene("rate: events before the time, again and again", RATE, 16, region(), false_alarms=True),
    Scene("rate: events of another volume", RATE, 16, region(), events=faults.of_another_volume),
    Scene("rate: event without its leading blank", RATE, 16,
          region(initialize_event_name="initializeVolume")),
    Scene("rate: AWS's status 5 minutes old", RATE, 16, region(status_lag_seconds=300.0), lag_seconds=300),
    Scene("rate: no progress is shown after completion", RATE, 16, region(details_kept_seconds=0.0),
          lag_seconds=300),
    Scene("rate: progress vanishes some minutes after completion", RATE, 16,
          region(status_lag_seconds=300.0, details_kept_seconds=400.0), lag_seconds=600),
    Scene("rate: slower than promised", RATE, 16, region(provisioned_rate_accuracy=0.5)),
    Scene("background: everything as it should be", BACKGROUND, 1, region(), planned_seconds=850),
    Scene("background: completed with progress 75", BACKGROUND, 1, region(), planned_seconds=850,
          status=faults.completed_at_75),
    Scene("background: much faster than planned, events lost", BACKGROUND, 1, region(),
          planned_seconds=86_400, events=faults.lost),
    Scene("background: much slower than planned, events lost", BACKGROUND, 1, region(),
          planned_seconds=60, events=faults.lost),
    Scene("background: the event a minute after completion", BACKGROUND, 1,
          region(status_lag_seconds=300.0, initialize_event_delay_seconds=60.0), lag_seconds=300,
          planned_seconds=850),
    Scene("background: no progress is shown after completion", BACKGROUND, 1,
          region(details_kept_seconds=0.0), planned_seconds=850, lag_seconds=300),
    Scene("fast snapshot restore without a credit", Strategy.FAST_SNAPSHOT_RESTORE, 1, region(),
          planned_seconds=850),
]  # fmt: skip
STAY_COLD = [
    (Scene("agent: stands still at 60 %", agent_share=0.6, readiness=faults.STALLS_SOON),
     "InitializationStalledError"),
    (Scene("agent: stands still, silent, metrics quiet", agent_share=0.6, silent=True,
           readiness=faults.STALLS_SOON), "InitializationStalledError"),
    (Scene("agent: gives up with unreadable blocks", agent_verdict="incomplete"), "AgentFailedError"),
    (Scene("rate: says completed at 75 % for ever", RATE, 16, region(provisioned_rate_accuracy=0.0001),
           status=faults.completed_at_75, readiness=faults.STALLS_SOON), "InitializationStalledError"),
    (Scene("rate: events say so from the start", RATE, 16, region(provisioned_rate_accuracy=0.0001),
           false_alarms=True, readiness=faults.STALLS_SOON), "InitializationStalledError"),
]  # fmt: skip


def names(rows: list[Scene]) -> list[str]:
    return [scene.name for scene in rows]


@pytest.mark.parametrize("scene", BECOME_READY, ids=names(BECOME_READY))
def test_is_ready_when_it_is_and_not_before(scene: Scene) -> None:
    outcome = follow(scene)
    late = outcome.late_seconds
    right = late is not None and 0 <= late <= scene.lag_seconds + BOUND_SECONDS
    assert right, outcome


@pytest.mark.parametrize(("scene", "failure"), STAY_COLD, ids=names([scene for scene, _ in STAY_COLD]))
def test_is_never_ready_while_cold(scene: Scene, failure: str) -> None:
    outcome = follow(scene)
    assert (outcome.ready_seconds, outcome.failure) == (None, failure)
