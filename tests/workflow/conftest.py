"""The stack on the embedded AWS, a snapshot with real data, and somebody who restores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from local.aws.host import Host
from local.aws.machines.dataplane import SnapshotImage
from local.aws.machines.snapshot_image import FileTree, make_ext4_image
from tests.support.stack.fault_matrix import FaultMatrix
from tests.support.stack.restores import RestoreUser

Json = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/workflow/" in str(item.path):
            item.add_marker(pytest.mark.workflow)
            item.add_marker(pytest.mark.agent)


@pytest.fixture(scope="session")
def image(host: Host) -> SnapshotImage:
    """1 GiB of ext4 with some 60 MiB of files."""
    return make_ext4_image(host.state.path / "workflow.ext4", 1, FileTree(share=0.06))


@pytest.fixture(scope="session")
def sent_events(lab: Host) -> Callable[[str], list[Json]]:
    """Rewarm's own events on EventBridge, by restore, in the order of their arrival."""
    queue = lab.client("sqs").create_queue(QueueName="workflow-events")["QueueUrl"]
    attributes = lab.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
    events = lab.client("events")
    events.put_rule(Name="workflow-events", EventPattern=json.dumps({"source": ["rewarm"]}))
    events.put_targets(
        Rule="workflow-events", Targets=[{"Id": "queue", "Arn": attributes["Attributes"]["QueueArn"]}]
    )
    kept: list[Json] = []

    def of_restore(restore_id: str) -> list[Json]:
        sqs = lab.client("sqs")
        while found := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
            for one in found:
                kept.append(json.loads(one["Body"]))
                sqs.delete_message(QueueUrl=queue, ReceiptHandle=one["ReceiptHandle"])
        return [one for one in kept if one["detail"]["restoreId"] == restore_id]

    return of_restore


@pytest.fixture
def user(lab: Host, image: SnapshotImage) -> Iterator[RestoreUser]:
    """Somebody who restores and leaves nothing behind."""
    somebody = RestoreUser(lab, image)
    somebody.forget()
    try:
        yield somebody
    finally:
        somebody.leave()


@pytest.fixture(scope="session")
def fault_rows(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> FaultMatrix:
    """The fault matrix, recorded once for all workers."""
    folder = tmp_path_factory.getbasetemp()
    shared = folder if worker_id == "master" else folder.parent
    return FaultMatrix(shared / "fault-matrix", worker_id)


@pytest.fixture
def volumes_take(user: RestoreUser, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Changes how long the life of a volume takes in this test's Region (VolumeSettings)."""

    def change(**settings: float) -> None:
        core = user.region._core
        volume = replace(core.settings.volume, **settings)  # type: ignore[arg-type]
        monkeypatch.setattr(core, "settings", replace(core.settings, volume=volume))

    return change


@pytest.fixture
def cold_volumes(volumes_take: Callable[..., None]) -> None:
    """EBS loads nothing by itself: on a busy machine, hours of the lab may pass before an adoption."""
    volumes_take(background_mib_s=1e-6)
