"""Some restores of a scenario bring their application back, some are drills, and documents have trouble."""

from __future__ import annotations

import random

from local import Json
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.hook import DOCUMENT
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.hook_paths import document

SHARE, TROUBLED = 0.3, 0.3
DRILLS = 0.1
KINDS = ("killed", "long-output")
CHECK: Json = {"url": "http://127.0.0.1:8080/health", "withinSeconds": 60}


def write(requests: list[Json], troubles: list[Trouble], chance: random.Random, lab: FastLab) -> None:
    """Adds `after` to some of the requests that go to an instance."""
    chosen = [one for one in requests if "instanceId" in one["target"] and chance.random() < SHARE]
    known = document(lab) if chosen else {}
    for one in chosen:
        target = one["target"]
        is_late = target.get("reboot") or target.get("mode") == "rewind"
        one["after"] = {
            "when": "ready" if is_late else chance.choice(("ready", "attached")),
            "document": {**known, "mayRunTwice": False},
            "healthCheck": CHECK if chance.random() < 0.5 else None,
        }
        if chance.random() < TROUBLED:
            troubles.append(Trouble(chance.choice(KINDS), DOCUMENT))


def drill(requests: list[Json], told: list[str], chance: random.Random, lab: FastLab) -> None:
    """Makes runbooks of some requests, and drills of these, with their applications or without."""
    for number, one in enumerate(requests):
        is_plain = set(one["source"]) == {"snapshotId"} and set(one["target"]) == {"instanceId"}
        if not is_plain or chance.random() > DRILLS:
            continue
        alarm = f"rewarm-drilled-{number}"
        lab.api("PUT", f"/runbooks/{alarm}", one)
        instance_id = lab.region.add_instance(tags={"rewarm:drills": "true"})
        drilled = {"after": True} if "after" in one else {}
        requests[number] = {
            "source": {"alarm": alarm},
            "target": {"instanceId": instance_id},
            "drill": drilled,
        }
        told.append(f"restore {number} is a drill{' with its application' if drilled else ''}")
