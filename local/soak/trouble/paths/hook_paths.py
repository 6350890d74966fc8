"""Ways on which the application is brought back: at full speed, once attached, and after a lost answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from local import Json
from local.aws.region import FaultRule
from local.soak.lab.endings import Ending
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.hook import AGAIN, DOCUMENT
from local.soak.lab.lab import FastLab
from local.soak.lab.template import STACK
from local.soak.trouble.paths.copy_paths import PATHS
from local.soak.trouble.paths.paths import drilled, path, request, restored, snapshot

__all__ = ["PATHS"]
NAME = "start-orders"
CONTENT: Json = {
    "schemaVersion": "2.2",
    "parameters": {"service": {"type": "String"}},
    "mainSteps": [
        {
            "name": "start",
            "action": "aws:runShellScript",
            "inputs": {"runCommand": ["systemctl start {{ service }}"]},
        }
    ],
}


def document(lab: FastLab, name: str = NAME, **more: Any) -> Json:
    """A document of the user's, as `after.document` names it."""
    tags = [{"Key": "rewarm:hooks", "Value": STACK}]
    made = {"Name": name, "Content": json.dumps(CONTENT | more), "DocumentType": "Command", "Tags": tags}
    lab.region.call("ssm", "CreateDocument", {**made, "DocumentFormat": "JSON"})
    return {"name": name, "parameters": {"service": ["orders"]}, "mayRunTwice": name == AGAIN}


def _updated(lab: FastLab, name: str) -> None:
    """A new version, which becomes the default one."""
    content = json.dumps({**CONTENT, "description": "another"})
    lab.region.call("ssm", "UpdateDocument", {"Name": name, "Content": content})
    lab.region.call("ssm", "UpdateDocumentDefaultVersion", {"Name": name, "DocumentVersion": "2"})


def _replaced(lab: FastLab, name: str) -> None:
    """Another document under the same name."""
    _deleted(lab, name)
    document(lab, name, description="another")


def _deleted(lab: FastLab, name: str) -> None:
    lab.region.call("ssm", "DeleteDocument", {"Name": name})


def _untagged(lab: FastLab, name: str) -> None:
    tags = [{"Key": "rewarm:hooks", "Value": "another"}]
    named = {"ResourceType": "Document", "ResourceId": name}
    lab.region.call("ssm", "AddTagsToResource", {**named, "Tags": tags})


CHANGES: dict[str, Callable[[FastLab, str], None]] = {
    "updated": _updated, "replaced": _replaced, "deleted": _deleted, "untagged": _untagged,
}  # fmt: skip
"""What its owner may do to a document while a restore runs; the volume is ready all the same."""


def whole(lab: FastLab, **more: Any) -> Json:
    """Every part."""
    check = {"url": "http://127.0.0.1:8080/health", "withinSeconds": 60}
    return {"mounts": [{"path": "/data"}], "document": document(lab), "healthCheck": check, **more}


@path("application")
def _application(lab: FastLab) -> Ending:
    return restored(lab, request(lab, "warm-up-agent", after=whole(lab)))


@path("application-once-attached")
def _application_once_attached(lab: FastLab) -> Ending:
    devices = ("/dev/sdf", "/dev/sdg")
    listed = [{"snapshotId": snapshot(lab), "device": device} for device in devices]
    mounts = [{"device": device, "path": f"/data/{device[-1]}"} for device in devices]
    after = whole(lab, when="attached", mounts=mounts)
    return restored(lab, request(lab, "warm-up-agent", source={"volumes": listed}, after=after))


@path("application-drilled")
def _application_drilled(lab: FastLab) -> Ending:
    """The drill is over once the volume is unmounted and deleted."""
    return drilled(lab, "provisioned-rate", after=whole(lab), drill={"after": True})


@path("application-answer-lost")
def _application_answer_lost(lab: FastLab) -> Ending:
    """The answer to the document's command is lost, so it is looked for."""
    asked = request(lab, "provisioned-rate", after=whole(lab, mounts=[], healthCheck=None))
    asked["verify"] = {"samples": 0}
    rule = FaultRule("SendCommand", effect="lost-answer", code="InternalServerError", status=500)
    lab.region.faults.add(rule)
    return restored(lab, asked)


@path("application-hangs")
def _application_hangs(lab: FastLab) -> Ending:
    """The document does not come to an end, so its command is cancelled."""
    lab.data_plane.troubles.append(Trouble("hangs", DOCUMENT))
    asked = request(lab, "provisioned-rate", after=whole(lab, mounts=[], healthCheck=None))
    asked["after"]["document"]["timeLimitSeconds"] = 60
    asked["verify"] = {"samples": 0}
    return restored(lab, asked)
