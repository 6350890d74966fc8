"""`make run ARGS="--scenario drill"`: three drills of a runbook, as a schedule starts them; one is late."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from local import Json
from local.aws.host import Host
from local.tools.run import lab as labs
from local.tools.run.lab import ALARM
from local.tools.run.live.details import BLOCK_BYTES
from local.tools.run.recording import RestoreRecord
from local.tools.run.story import REPORTS, Scene, Story
from local.tools.run.watch import Watch
from rewarm.domain.model import MIB
from rewarm.domain.units import elapsed_text
from rewarm_cli.addresses import address

RECOVERY_TIME_MINUTES = 2
RECOVERY_POINT_MINUTES = 1_440
SLOW_SECONDS = 140
"""So long the agent of the late drill reads at the rate that it may."""
SCHEDULE = "nightly-drill"


@dataclass(frozen=True, slots=True)
class Drill:
    """One drill, and what must come of it."""

    title: str
    outcome: str
    slow: bool = False


DRILLS = (
    Drill("1. A drill", "passed"),
    Drill("2. A drill whose agent may read little", "late", slow=True),
    Drill("3. A drill after that", "passed"),
)


class DrillStory(Story):
    """Drills the runbook, and looks afterwards whether the drills have left anything in the Region."""

    def tell(self, host: Host) -> Path:
        scene = self.set_up(host)
        tags = {"Name": "drills", "rewarm:drills": "true"}
        isolated = host.region.add_instance(instance_type=labs.USUAL_INSTANCE, tags=tags)
        self._say_how(scene, isolated)
        before = host.region.inventory()
        for drill in DRILLS:
            self._drill(scene, drill)
        self.run.left_running = labs.left_running(host.region.inventory(), before, set())
        self._show_trend(scene)
        self.run.real_seconds = time.monotonic() - self._began
        return self._keep_page(scene)

    def _say_how(self, scene: Scene, isolated: str) -> None:
        """The runbook again, now with its drill."""
        request = labs.request_of_runbook(self.options, scene.instance_id)
        drill = {
            "target": {"instanceId": isolated},
            "recoveryTimeMinutes": RECOVERY_TIME_MINUTES,
            "recoveryPointMinutes": RECOVERY_POINT_MINUTES,
        }
        scene.lab.api.expect(200, "PUT", address("runbooks", ALARM), {**request, "drill": drill})
        self.view.say(f"The alarm restores to {scene.instance_id}, drills go to {isolated}.")

    def _drill(self, scene: Scene, drill: Drill) -> None:
        lab, request = scene.lab, self._request(drill)
        self.view.heading(drill.title)
        started_at = lab.now()
        restore_id = lab.start_by_schedule(SCHEDULE, request)
        record = RestoreRecord(
            title=drill.title, trigger=f"schedule {SCHEDULE}", restore_id=restore_id, request=request,
            started_at=started_at, expected_outcome=drill.outcome,
        )  # fmt: skip
        self.run.restores.append(record)
        Watch(lab, record, self.view).follow()
        record.page = lab.page(restore_id)
        self._note_machine(lab.host)
        result = record.drill or {}
        self.view.say(
            f"{result.get('outcome', 'no result')}: back at full speed after "
            f"{elapsed_text(result.get('recoverySeconds') or 0)}; its volume is deleted"
        )

    def _request(self, drill: Drill) -> Json:
        """What the schedule has as its input."""
        request: Json = {"source": {"alarm": ALARM}, "drill": {}}
        if drill.slow:
            assert self.run.snapshot is not None
            written_mib = self.run.snapshot.written_blocks * BLOCK_BYTES // MIB
            request["warmUp"] = {"maxMibPerSecond": max(1, written_mib // SLOW_SECONDS)}
        return request

    def _show_trend(self, scene: Scene) -> None:
        self.view.heading("All drills of the runbook")
        self.view.say(f"{'drill of':<26}{'outcome':<10}{'recovery time':<16}recovery point")
        runbook = scene.lab.api.expect(200, "GET", address("runbooks", ALARM))
        for one in runbook["drills"]:
            took, age = elapsed_text(one["recoverySeconds"] or 0), elapsed_text(one["pointSeconds"] or 0)
            self.view.say(f"{one['at']:<26}{one['outcome']:<10}{took:<16}{age}")

    def _keep_page(self, scene: Scene) -> Path:
        """Rewarm's own page of the last drill, with the trend."""
        REPORTS.mkdir(parents=True, exist_ok=True)
        last = self.run.restores[-1]
        path = REPORTS / f"drill-{last.restore_id}.html"
        path.write_text(last.page or "", encoding="utf-8")
        return path
