"""Some restores of a scenario bring their application back, and something may befall its document."""

from __future__ import annotations

import random

from local import Json
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.hook import DOCUMENT
from local.soak.lab.lab import FastLab
from local.soak.trouble.paths.hook_paths import document

SHARE, TROUBLED = 0.3, 0.3
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
