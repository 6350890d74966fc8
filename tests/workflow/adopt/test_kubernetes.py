"""docs/kubernetes played: the CSI driver's volume is warmed on its node, and the init container waits for it.

The driver's calls are those of kubernetes-sigs/aws-ebs-csi-driver (pkg/cloud/cloud.go, docs/tagging.md). The
embedded AWS has files for disks, so a small folder stands for /sys, with the serial number that Nitro shows.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPMessage
from pathlib import Path
from typing import Any

import pytest
import yaml

from rewarm_cli.problems import DONE, NOT_PROVEN, REFUSED, STILL_RUNNING
from tests.support.loopback import Answer, answering
from tests.support.stack.restores import PATIENT, RestoreUser, unique
from tests.support.stack.signing import key_with_policy
from tests.support.tree import ROOT

Json = dict[str, Any]
FOLDER = ROOT / "docs" / "kubernetes"
NAME = "pvc-a3ab0567-3a48-4608-8cb6-4e3b1485c808"
POD = """
set -e
mount -t tmpfs srv /srv
mkdir -p "$MOUNT"
mount -t tmpfs data "$MOUNT"
disk="$FAKE_SYS/$(mountpoint -d "$MOUNT")"
mkdir -p "$disk/device"
echo "$SERIAL" >"$disk/device/serial"
mount --bind "$FAKE_SYS" /sys/dev/block
exec "$@"
"""
"""What the kubelet and Nitro do: the volume's file system at its mount, and the serial number in /sys."""


def manifest(kind: str) -> Json:
    """The first one of this kind."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yaml"))]
    return next(one for text in texts for one in yaml.safe_load_all(text) if one and one["kind"] == kind)


@pytest.fixture
def rule(user: RestoreUser) -> Iterator[str]:
    """The rule of docs/kubernetes.md, by its name there; a busy machine makes some reads slow."""
    page = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(match:.+?)```.+?rewarm rule put (\w+) ", page, re.DOTALL)
    assert found is not None
    path = f"/rules/{found[2]}"
    assert user.call("PUT", path, yaml.safe_load(found[1]) | {"verify": PATIENT}).status == 200
    yield found[2]
    user.call("DELETE", path)


def provisioned(user: RestoreUser, node: str) -> str:
    """A claim's volume, made from its snapshot and attached by the driver's calls."""
    ec2: Any = user.lab.client("ec2")
    settings, claim = manifest("StorageClass")["parameters"], manifest("PersistentVolumeClaim")["metadata"]
    key, value = settings["tagSpecification_1"].split("=")
    tags = {
        "CSIVolumeName": NAME,
        "ebs.csi.aws.com/cluster": "true",
        "kubernetes.io/created-for/pvc/name": claim["name"],
        "kubernetes.io/created-for/pvc/namespace": claim["namespace"],
        "kubernetes.io/created-for/pv/name": NAME,
        key: value,
    }
    made = ec2.create_volume(
        ClientToken=hashlib.sha256(unique(NAME).encode()).hexdigest(),
        Size=user.image.size_gib,
        VolumeType=settings["type"],
        Iops=int(settings["iops"]),
        Throughput=int(settings["throughput"]),
        Encrypted=False,
        MultiAttachEnabled=False,
        SnapshotId=user.snapshot(),
        AvailabilityZone=user.zone,
        TagSpecifications=[
            {
                "ResourceType": "volume",
                "Tags": [{"Key": name, "Value": found} for name, found in tags.items()],
            }
        ],
    )
    volume_id = str(made["VolumeId"])
    user.wait_until(lambda: user.volume(volume_id)["State"] == "available", lambda: "it is being made")
    ec2.attach_volume(VolumeId=volume_id, InstanceId=node, Device="/dev/xvdaa")
    user.wait_until(
        lambda: [place["State"] for place in user.volume(volume_id)["Attachments"]] == ["attached"],
        lambda: "it is being attached",
    )
    assert user.volume(volume_id)["Tags"] == tags
    return volume_id


@pytest.fixture
def reader(user: RestoreUser, tmp_path: Path) -> Json:
    """The environment of a container: the manifest's settings, and keys with the policy waiter."""
    key, settings = key_with_policy(user, "waiter"), user.region.settings
    program = tmp_path / "bin" / "rewarm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rewarm_cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    stack = {"AWS_REGION": settings.region, "REWARM_API_URL": user.lab.api_url}
    assert set(stack) == set(manifest("ConfigMap")["data"])
    return {
        **os.environ,
        **stack,
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "PYTHONPATH": str(ROOT / "cli"),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
    }


def init_container(reader: Json, volume_id: str, folder: Path) -> subprocess.Popen[str]:
    """The manifest's init container, in the mounts of a pod with this volume."""
    (container,) = manifest("Pod")["spec"]["initContainers"]
    folder.mkdir()
    pod = {
        "MOUNT": container["volumeMounts"][0]["mountPath"],
        "FAKE_SYS": str(folder),
        "SERIAL": volume_id.replace("-", ""),
    }
    in_pod = ["unshare", "--mount", "--propagation", "private", "sh", "-c", POD, "pod"]
    return subprocess.Popen(
        [*in_pod, *container["command"]], env={**reader, **pod}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def metadata(instance_id: str) -> Answer:
    """The instance metadata service, which answers only with a token (version 2)."""

    def answer(method: str, path: str, headers: HTTPMessage) -> str | None:
        if method == "PUT":
            asked = headers.get("X-aws-ec2-metadata-token-ttl-seconds")
            return "a-token" if asked and path == "/latest/api/token" else None
        return instance_id if headers.get("X-aws-ec2-metadata-token") == "a-token" else None

    return answer


@pytest.mark.usefixtures("cold_volumes")
def test_the_init_container_ends_once_a_rule_has_the_volume_of_its_claim_proven(
    user: RestoreUser, rule: str, reader: Json, tmp_path: Path
) -> None:
    node, before = user.instance(), set(user.executions())
    volume_id = provisioned(user, node)
    tags = user.volume(volume_id)["Tags"]
    waiting = init_container(reader, volume_id, tmp_path / "first")
    try:
        user.wait_until(
            lambda: bool(set(user.executions()) - before), lambda: f"the rule adopts no {volume_id}"
        )
        (restore_id,) = set(user.executions()) - before
        done = user.finished(restore_id)
        assert done.main.status == "SUCCEEDED", done.why
        assert done.record["trigger"]["ruleName"] == rule
        said, errors = waiting.communicate(timeout=300)
    finally:
        waiting.kill()
    assert waiting.returncode == DONE, errors
    assert f"{volume_id} is at full speed: {done.restore_id} has proven it." in said
    assert user.counters(volume_id).read_blocks == sum(count for _, count in user.image.extents)
    shown = user.volume(volume_id)
    assert {name: value for name, value in shown["Tags"].items() if name in tags} == tags
    assert set(shown["Tags"]) - set(tags) == {"rewarm:warm-since"}

    # A pod that starts again is not held up, and the instance's volumes can be named as well.
    again = init_container(reader, volume_id, tmp_path / "second")
    said, errors = again.communicate(timeout=300)
    assert (again.returncode, "has proven it" in said) == (DONE, True), errors
    with answering(metadata(node)) as address:
        here = {**reader, "AWS_EC2_METADATA_SERVICE_ENDPOINT": address}
        of_node = rewarm(here, "wait", "--instance", "--timeout", "0m", "-o", "json")
    assert of_node.returncode == STILL_RUNNING, of_node.stderr
    states = {one["volumeId"]: one["state"] for one in json.loads(of_node.stdout)["volumes"]}
    assert states.pop(volume_id) == "proven"
    assert list(states.values()) == ["unknown"], "nobody has warmed the node's root volume"

    # These credentials start nothing.
    assert rewarm(reader, "warm", volume_id, "--yes").returncode == REFUSED


def rewarm(environment: Json, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, as somebody with this environment."""
    return subprocess.run(
        [sys.executable, "-m", "rewarm_cli", *words],
        env={**os.environ, **environment, "PYTHONPATH": str(ROOT / "cli")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_init_container_fails_where_the_warm_up_does(
    user: RestoreUser, reader: Json, tmp_path: Path
) -> None:
    """A node that Systems Manager does not know, such as one whose role lacks its policy."""
    node = user.instance()
    volume_id = provisioned(user, node)
    user.lab.client("ec2").stop_instances(InstanceIds=[node])
    request = {"source": {"existing": {"volumeIds": [volume_id]}}}
    restore_id = user.start_execution({"request": request})
    user.finished(restore_id)
    waiting = init_container(reader, volume_id, tmp_path / "pod")
    said, _errors = waiting.communicate(timeout=300)
    assert waiting.returncode == NOT_PROVEN
    assert f"{volume_id} is not proven: {restore_id} is failed: " in said
