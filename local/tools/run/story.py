"""The main job from beginning to end: set up, an alarm restores, a call restores, report."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local import ROOT, Json
from local.aws.host import Host
from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.volumes import PlainVolume
from local.tools.run import lab as labs
from local.tools.run.lab import ALARM, Lab, Source
from local.tools.run.live.details import BLOCK_BYTES
from local.tools.run.live.view import View
from local.tools.run.options import Options
from local.tools.run.proof import counted, with_files
from local.tools.run.recording import RestoreRecord, RunRecord
from local.tools.run.report import write_report
from local.tools.run.watch import Watch
from local.tools.run.wording import kept_text
from rewarm.domain.model import GIB, Strategy
from rewarm.domain.units import size_text
from rewarm_cli.addresses import address

REPORTS = ROOT / ".local" / "reports"
START_SECONDS = 60.0
COPIES = {"restore": 4, "drill": 4, "rewind": 6, "adopt": 3}
"""How often each scenario has the written part of the volume on disk, at most."""


class StoryError(RuntimeError):
    """The job cannot go on; the message says why."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What the restores happen in."""

    lab: Lab
    source: Source
    snapshot_id: str
    instance_id: str


class Story:
    """Tells the job to the view and keeps it in the record."""

    def __init__(self, options: Options, view: View) -> None:
        self.options = options
        self.view = view
        self.run = RunRecord()
        self._began = time.monotonic()

    def tell(self, host: Host) -> Path:
        """Do it all on a host that has not started yet; the report's path."""
        scene = self.set_up(host)
        inventory = host.region.inventory()
        self._restore(scene, "1. After an alarm", self._by_alarm)
        if not self.options.skip_second:
            self._restore(scene, "2. By POST /restores, with a provisioned rate", self._by_post)
        self._take_stock(scene, inventory)
        self.run.real_seconds = time.monotonic() - self._began
        return write_report(self.run, REPORTS)

    def set_up(self, host: Host) -> Scene:
        """Everything that has to be there first; the caller closes the host, whatever happens here."""
        view, run = self.view, self.run
        host.take_state_dir()
        self._require_disk_space()
        view.heading("Setting up")
        with view.setup_step("File system of the lost volume", run) as step:
            source = labs.make_source(self.options)
            step.detail = "kept from an earlier run" if source.was_kept else "ext4, full of files"
        with view.setup_step("Embedded AWS", run) as step:
            host.start()
            step.detail = f"{host.addresses.region}, in a separate network"
        with view.setup_step("Deploy template.yaml", run) as step:
            step.detail = f"{len(host.deploy())} outputs"
        lab = Lab(host)
        with view.setup_step("Last snapshot of it, and its instance", run) as step:
            scene = Scene(lab, source, lab.add_snapshot(source), lab.add_instance(self.options.strategy))
            run.snapshot = labs.facts_of(source, scene.snapshot_id)
            written = size_text(run.snapshot.written_blocks * BLOCK_BYTES)
            step.detail = (
                f"{scene.snapshot_id}: {source.image.size_gib} GiB, {written} written, "
                f"{run.snapshot.files:,} files; {scene.instance_id}"
            )
        if self.options.strategy == Strategy.VOLUME_CLONE:
            with view.setup_step("Source volume, which is not lost", run) as step:
                volume_id = lab.add_source_volume(source, scene.snapshot_id)
                step.detail = f"{volume_id} lives: a lost volume cannot be cloned"
        with view.setup_step("Runbook for an alarm", run) as step:
            request = labs.request_of_runbook(self.options, scene.instance_id)
            answer = lab.api.call("PUT", address("runbooks", ALARM), request)
            if answer.status not in (200, 201):
                raise StoryError(f"PUT /runbooks/{ALARM} answered {answer.status}: {answer.body}")
            step.detail = f"PUT /runbooks/{ALARM}: {answer.status}"
        return scene

    def _require_disk_space(self) -> None:
        """A full disk would fail a volume in the middle of the run. Raises StoryError."""
        options = self.options
        needed = options.size_gib * options.written_percent / 100 * COPIES[options.scenario]
        free = shutil.disk_usage(options.state_dir).free / GIB
        if free < needed:
            raise StoryError(
                f"{options.state_dir} has {free:.1f} GiB of free disk space, and the run needs "
                f"{needed:.1f} GiB; free some, or take a smaller --size-gib or --written-percent"
            )

    def _restore(self, scene: Scene, title: str, start: Callable[[Scene], tuple[str, str, Json]]) -> None:
        """One restore: started, watched, examined."""
        lab, host = scene.lab, scene.lab.host
        self.view.heading(title)
        money = host.region.money()
        started_at = lab.now()
        trigger, restore_id, request = start(scene)
        record = RestoreRecord(
            title=title, trigger=trigger, restore_id=restore_id, request=request, started_at=started_at
        )
        self.run.restores.append(record)
        Watch(lab, record, self.view).follow()
        record.page = lab.page(restore_id)
        self._note_machine(host)
        record.metered_usd, record.metered_parts = labs.metered(money, host.region.money())
        if record.volume_id is not None:
            record.read_ops = lab.reads_a_minute(record.volume_id, record.started_at)
            self._examine(scene, record, record.volume_id)
        self.view.ended(record)

    def _by_alarm(self, scene: Scene) -> tuple[str, str, Json]:
        lab = scene.lab
        known = lab.execution_names()
        lab.put_alarm_event()
        self.view.say(f"EventBridge: CloudWatch Alarm State Change, {ALARM} is in ALARM.")
        give_up = time.monotonic() + START_SECONDS
        while not (new := lab.execution_names() - known):
            if time.monotonic() > give_up:
                raise StoryError(f"the alarm started no restore within {START_SECONDS:.0f} s")
            time.sleep(0.1)
        trigger = f"CloudWatch alarm {ALARM}, through EventBridge"
        return trigger, new.pop(), labs.request_of_runbook(self.options, scene.instance_id)

    def _by_post(self, scene: Scene) -> tuple[str, str, Json]:
        request = labs.request_by_post(self.options, scene.instance_id, scene.snapshot_id)
        self.view.command(scene.lab.api.curl("POST", "/restores", request))
        answer = scene.lab.api.expect(202, "POST", "/restores", request)
        self.view.say(f"202 Accepted: {answer['restoreId']}")
        return "POST /restores", answer["restoreId"], request

    def _examine(self, scene: Scene, record: RestoreRecord, volume_id: str) -> None:
        """Failing here is a finding and no reason to stop: the verdict will say it."""
        host = scene.lab.host
        try:
            record.proof = counted(host, volume_id, is_plain=self.run.is_plain)
            record.proof = with_files(record.proof, host, scene.instance_id, volume_id, scene.source.manifest)
        except DataPlaneError as problem:
            self.view.say(f"The volume cannot be examined: {problem}")

    def _note_machine(self, host: Host) -> None:
        self.run.machine_note = host.machine.note
        volumes = host.machine._volumes.values()
        self.run.is_plain = any(isinstance(volume, PlainVolume) for volume in volumes)

    def _take_stock(self, scene: Scene, before: dict[str, list[str]]) -> None:
        now = scene.lab.host.region.inventory()
        for restore in self.run.restores:
            left = scene.lab.restore(restore.restore_id).get("left") or []
            self.run.kept += [kept_text(thing) for thing in left]
        wanted = {restore.volume_id for restore in self.run.restores if restore.status == "SUCCEEDED"}
        self.run.delivered = [volume_id for volume_id in now["volumes"] if volume_id in wanted]
        self.run.left_running = labs.left_running(now, before, set(self.run.delivered))
