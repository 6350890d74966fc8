"""Some restores of a scenario bring their application back, some are drills, and documents have trouble."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from local import Json
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.hook import AGAIN, DOCUMENT, HOOK
from local.soak.lab.lab import FastLab
from local.soak.trouble.machine_rows import ACTS, HOOK_KINDS
from local.soak.trouble.paths.hook_paths import CHANGES, document
from local.soak.trouble.random_faults import CallFault

if TYPE_CHECKING:
    from local.soak.trouble.scenarios import Plan

SHARE, TROUBLED = 0.3, 0.3
DRILLS = 0.1
KINDS = ("killed", "long-output")
FURTHER, OFTEN = 0.3, 0.3
"""Of so many plans with an application, each kind of further trouble; a document that may run twice."""
GONE = tuple(name for name in ACTS if name.startswith("instance"))
OUTAGES = ("throttled", "internal", "lost")
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


def befall(plan: Plan, chance: random.Random, lab: FastLab) -> None:
    """Further trouble of documents, mounts and checks, by a separate chance: no other seed has changed."""
    asked = [one["after"]["document"] for one in plan.requests if one.get("after", {}).get("document")]
    if not asked:
        return
    if chance.random() < OFTEN:
        again = document(lab, AGAIN)
        for one in asked:
            one.update(again)
    name = asked[0]["name"]
    if chance.random() < FURTHER:
        kind, action = chance.choice(HOOK_KINDS), chance.choice((DOCUMENT, HOOK))
        plan.troubles.append(Trouble(kind, action))
        plan.told.append(f"{kind} during {action}")
    if chance.random() < FURTHER:
        change, seconds = chance.choice(tuple(CHANGES)), chance.expovariate(1 / 90)
        lab.scheduler.after(seconds, lambda: CHANGES[change](lab, name))
        plan.told.append(f"the document {name} is {change} after {seconds:.0f} s")
    if chance.random() < FURTHER:
        begins, seconds = lab.scheduler.now + chance.expovariate(1 / 90), chance.choice((5.0, 60.0))
        operation = chance.choice(("SendCommand", "ListCommands", "CancelCommand", "DescribeDocument"))
        fault = CallFault(chance.choice(OUTAGES), None, "ssm", operation, begins, begins + seconds, 0.5)
        plan.faults.call_faults.append(fault)
        plan.told.append(str(fault))
    if chance.random() < FURTHER / 3:
        gone = chance.choice(GONE)
        plan.troubles.append(Trouble("call", DOCUMENT, call=lambda *names: ACTS[gone](lab, *names)))
        plan.harmless = False
        plan.told.append(f"{gone} during {DOCUMENT}")
