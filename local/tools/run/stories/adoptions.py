"""`make run ARGS="--scenario adopt"`: a volume that something else has made is warmed up while it is used.

EC2's own calls make it of the snapshot and attach it. An application reads from it all the time. A rule that
its tag fits adopts it by itself. A second one, which fits no rule, is asked for by hand, and then once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from local import Json
from local.aws.host import Host
from local.aws.machines.instances import link_names
from local.tools.run import lab as labs
from local.tools.run.live.details import BLOCK_BYTES
from local.tools.run.report import write_report
from local.tools.run.story import REPORTS, Scene, Story, StoryError

DEVICES = ("/dev/sdf", "/dev/sdg")
TAG = {"Key": "app", "Value": "orders"}
RULE = {"match": {"volumeTags": {TAG["Key"]: TAG["Value"]}}, "mode": "act", "verify": labs.MEASURED}
RULE_SECONDS = 120.0
"""Rules look ten seconds after EBS's event."""
MADE_SECONDS, POLL_SECONDS = 120.0, 0.2
APPLICATION = """
while [ ! -e "$STOP" ]; do
    block=$(($(od -An -N4 -tu4 /dev/urandom) % BLOCKS))
    began=$(date +%s%N)
    dd if="$DEVICE" of=/dev/null bs=4k count=1 skip="$block" iflag=direct status=none
    echo $((($(date +%s%N) - began) / 1000))
    sleep 0.05
done
"""
"""Prints the microseconds of each read, with the start of a process."""


class AdoptStory(Story):
    """Has a rule warm one volume up, and asks for another one, and for that once more when it is warm."""

    def tell(self, host: Host) -> Path:
        scene = self.set_up(host)
        self.view.say("rewarm rule put orders sends this:")
        self.view.command(scene.lab.api.curl("PUT", "/rules/orders", RULE))
        scene.lab.api.expect(200, "PUT", "/rules/orders", RULE)
        volume_id = self._made_by_others(scene, DEVICES[0], [TAG])
        inventory = host.region.inventory()
        application = self._application(scene, volume_id)
        self._restore(
            scene, "1. A rule adopts a cold volume in use, and warms it up where it is", self._by_rule
        )
        self._say_what_reads_took(application)
        # Made only now: EBS loads what little data there may be by itself.
        second_id = self._made_by_others(scene, DEVICES[1], [])
        ask = self._warming(second_id)
        self._restore(scene, "2. Asked for: another cold volume, which no rule is for", ask)
        self._restore(scene, "3. Asked once more: it is warm already, and nothing is read", ask)
        self._take_stock(scene, inventory)
        for each in (volume_id, second_id):
            self._say_what_changed(host, each)
        self.run.real_seconds = time.monotonic() - self._began
        return write_report(self.run, REPORTS)

    def _made_by_others(self, scene: Scene, device: str, tags: list[dict[str, str]]) -> str:
        """By botocore alone. Raises StoryError."""
        ec2: Any = scene.lab.host.client("ec2")
        with self.view.setup_step("A volume of it, made and attached without Rewarm", self.run) as step:
            zone = scene.lab.host.region.settings.zones[0]
            made = ec2.create_volume(
                SnapshotId=scene.snapshot_id,
                AvailabilityZone=zone,
                VolumeType="gp3",
                TagSpecifications=[{"ResourceType": "volume", "Tags": tags}] if tags else [],
            )
            volume_id = str(made["VolumeId"])
            self._wait(ec2, volume_id, "available")
            ec2.attach_volume(VolumeId=volume_id, InstanceId=scene.instance_id, Device=device)
            self._wait(ec2, volume_id, "in-use")
            tagged = "its only tag is app=orders" if tags else "it has no tag"
            step.detail = f"{volume_id}, {device} on {scene.instance_id}; {tagged}"
        return volume_id

    def _wait(self, ec2: Any, volume_id: str, state: str) -> None:
        give_up = time.monotonic() + MADE_SECONDS
        while True:
            (volume,) = ec2.describe_volumes(VolumeIds=[volume_id])["Volumes"]
            places = [place["State"] for place in volume["Attachments"]]
            if volume["State"] == state and set(places) <= {"attached"}:
                return
            if time.monotonic() > give_up:
                raise StoryError(f"{volume_id} is {volume['State']} after {MADE_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def _application(self, scene: Scene, volume_id: str) -> Callable[[], list[float]]:
        """Begins to read; what is returned ends it, and gives the milliseconds of each read."""
        machine = scene.lab.host.machine
        stop = f"/tmp/stop-{volume_id}"
        blocks = scene.source.image.extents[0][1] * BLOCK_BYTES // 4_096
        environment = {
            "DEVICE": f"/dev/disk/by-id/{link_names(volume_id)[0]}", "STOP": stop, "BLOCKS": str(blocks)
        }  # fmt: skip
        reading = machine.run_command(scene.instance_id, APPLICATION, environment=environment)

        def ended() -> list[float]:
            machine.run_command(scene.instance_id, f"touch {stop}", environment={})
            while reading.poll() is None:
                time.sleep(POLL_SECONDS)
            return sorted(int(line) / 1_000 for line in str(reading.output()[0]).split())

        return ended

    def _by_rule(self, scene: Scene) -> tuple[str, str, Json]:
        """What the rule begins when it hears of the volume. Raises StoryError."""
        self.view.say("EventBridge: EBS Volume Notification, createVolume. Nobody asks for anything.")
        give_up = time.monotonic() + RULE_SECONDS
        while time.monotonic() < give_up:
            for one in scene.lab.api.expect(200, "GET", "/restores")["restores"]:
                if (one["trigger"] or {}).get("ruleName") == "orders":
                    record = scene.lab.api.expect(200, "GET", f"/restores/{one['restoreId']}")
                    return "the rule orders", one["restoreId"], record["request"]
            time.sleep(POLL_SECONDS)
        raise StoryError(f"the rule adopted nothing within {RULE_SECONDS:.0f} s")

    def _warming(self, volume_id: str) -> Callable[[Scene], tuple[str, str, Json]]:
        request = {"source": {"existing": {"volumeIds": [volume_id]}}, "verify": labs.MEASURED}

        def ask(scene: Scene) -> tuple[str, str, Json]:
            self.view.say(f"rewarm warm {volume_id} sends this:")
            self.view.command(scene.lab.api.curl("POST", "/restores", request))
            answer = scene.lab.api.expect(202, "POST", "/restores", request)
            return f"rewarm warm {volume_id}", answer["restoreId"], request

        return ask

    def _say_what_reads_took(self, application: Callable[[], list[float]]) -> None:
        took = application()
        if not took:
            raise StoryError("the application could read nothing while the volume was warmed up")
        p50, p99 = (took[int(len(took) * share)] for share in (0.5, 0.99))
        self.view.say(
            f"An application has read 4 KiB {len(took):,} times meanwhile: p50 {p50:.1f} ms, "
            f"p99 {p99:.1f} ms, with the start of a process each time."
        )

    def _say_what_changed(self, host: Host, volume_id: str) -> None:
        (volume,) = host.client("ec2").describe_volumes(VolumeIds=[volume_id])["Volumes"]
        given = [tag for tag in volume.get("Tags", []) if tag != TAG]
        tags = ", ".join(f"{tag.get('Key')}={tag.get('Value')}" for tag in given)
        self.view.say(f"{volume_id} is where it was, {volume['State']}. All that it has got: {tags}.")
