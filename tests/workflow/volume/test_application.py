"""The application back, on the real state machines: mounted, started and asked for real."""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

import pytest

from local.aws.host import STACK
from tests.support.stack.restores import RestoreUser, request_for, texts, unique

Json = dict[str, Any]
FOLDER = "/srv/data"


def port() -> int:
    """One that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        number: int = found.getsockname()[1]
    return number


def document(user: RestoreUser, *lines: str, tag: str = STACK) -> str:
    """A document of the user's, which may start an application."""
    name = unique("start")
    content: Json = {
        "schemaVersion": "2.2",
        "parameters": {"port": {"type": "String", "allowedPattern": "^[0-9]+$"}},
        "mainSteps": [
            {"name": "start", "action": "aws:runShellScript", "inputs": {"runCommand": ["#!/bin/sh", *lines]}}
        ],
    }
    user.lab.client("ssm").create_document(
        Name=name,
        Content=json.dumps(content),
        DocumentType="Command",
        Tags=[{"Key": "rewarm:hooks", "Value": tag}],
    )
    return name


def request(user: RestoreUser, name: str, number: int, **parts: Any) -> Json:
    after = {
        "mounts": [{"path": FOLDER, "options": "ro"}],
        "document": {"name": name, "parameters": {"port": [str(number)]}},
        "healthCheck": {"url": f"http://127.0.0.1:{number}/", "withinSeconds": 30},
    }
    asked = request_for(user, "background") | {"verify": {"samples": 0}}
    # An /srv of the instance's own: the rest of its file system is this machine's.
    made = user.lab.machine.run_command(
        asked["target"]["instanceId"], "mount -t tmpfs -o mode=755 none /srv", environment={}
    )
    assert made.wait(60) == 0
    return {**asked, "after": {**after, **parts}}


def test_the_volume_is_mounted_and_its_application_answers(user: RestoreUser) -> None:
    server = f"{sys.executable} -m http.server --bind 127.0.0.1 --directory {FOLDER} {{{{ port }}}}"
    name = document(user, f"ls {FOLDER}", f"nohup {server} >/dev/null 2>&1 &")
    done = user.restore(request(user, name, port()))
    assert done.main.status == "SUCCEEDED", done.why
    application = done.record["application"]
    assert (application["state"], [part["state"] for part in application["parts"]]) == ("back", ["done"] * 3)
    mounted, started, asked = (part["output"] for part in application["parts"])
    assert "(ext4, UUID=" in mounted
    assert f"is mounted at {FOLDER} with ro,nosuid,nodev" in mounted
    assert "lost+found" in started
    assert asked.endswith("/ answered 200")
    assert "is back after" in texts(user.messages(done.restore_id)[-1])
    report = user.report(done.restore_id)
    assert report["application"]["state"] == "back"
    assert report["applicationSeconds"] >= report["slowestSeconds"]


def test_one_that_does_not_come_back_leaves_its_volume_alone(user: RestoreUser) -> None:
    name = document(user, "echo half of it", "echo 'no such service' >&2", "exit 5")
    done = user.restore(request(user, name, port(), when="attached", mounts=[], healthCheck=None))
    assert done.main.status == "SUCCEEDED", done.why
    (part,) = done.record["application"]["parts"]
    assert (part["state"], part["reason"]) == ("failed", "no such service")
    assert part["output"] == "half of it\nno such service"
    volume_id = done.volumes[0].output["volumeId"]
    assert user.volume(volume_id)["State"] == "in-use"
    states = done.volumes[0].states
    assert states.index("Announce Application") < states.index("Poll Initialization")
    said = [texts(message) for message in user.messages(done.restore_id)]
    why = f"is attached, but the application is not back: document {name}: no such service"
    assert [text for text in said if why in text]


@pytest.mark.parametrize(
    ("tag", "words"), [("another", "lacks the tag rewarm:hooks"), (None, "has no document")]
)
def test_a_document_that_may_not_be_sent_is_refused_at_once(
    user: RestoreUser, tag: str | None, words: str
) -> None:
    name = unique("none") if tag is None else document(user, "true", tag=tag)
    answer = user.call("POST", "/restores", request(user, name, 80))
    assert (answer.status, answer.body["field"]) == (400, "after.document.name")
    assert words in answer.body["message"]
