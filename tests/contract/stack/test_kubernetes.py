"""The manifests of docs/kubernetes are what Kubernetes takes, and what they name is there."""

from __future__ import annotations

import copy
import json

import jsonschema
import kubernetes_validate
import pytest
import yaml

from tests.contract.repository import ROOT

FOLDER = ROOT / "docs" / "kubernetes"
MANIFESTS = [
    manifest
    for path in sorted(FOLDER.glob("*.yaml"))
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8"))
    if manifest
]
VERSIONS = ("1.32", kubernetes_validate.latest_version())
SNAPSHOTS = json.loads((ROOT / "tests/support/values/volume_snapshots.json").read_text(encoding="utf-8"))
"""Of the CSI snapshotter: its resources are none of Kubernetes' own."""


def strict(schema):
    """The schema, which takes no field that it does not name; the API server would drop those silently."""
    if not isinstance(schema, dict):
        return schema
    found = {name: strict(part) for name, part in schema.items()}
    return found | {"additionalProperties": False} if "properties" in schema else found


def complaint(manifest, version=VERSIONS[-1]):
    """What is wrong with it; None if nothing is."""
    try:
        if manifest["kind"] in SNAPSHOTS["schemas"]:
            assert manifest["apiVersion"] == "snapshot.storage.k8s.io/v1"
            jsonschema.validate(manifest, strict(SNAPSHOTS["schemas"][manifest["kind"]]))
        else:
            kubernetes_validate.validate(manifest, version, strict=True)
    except jsonschema.ValidationError as error:
        return error.message
    return None


def named(kind, name):
    (found,) = [one for one in MANIFESTS if (one["kind"], one["metadata"]["name"]) == (kind, name)]
    return found


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["kind"])
def test_kubernetes_takes_each_manifest(manifest, version):
    assert complaint(manifest, version) is None


@pytest.mark.parametrize(
    ("kind", "name", "path", "value"),
    [
        ("Pod", "orders", ["spec", "initContainers", 0, "comand"], ["rewarm"]),
        ("Pod", "orders", ["spec", "initContainers", 0, "command"], "rewarm wait"),
        ("StorageClass", "ebs-gp3", ["parameters", "iops"], 3_000),
        ("PersistentVolumeClaim", "orders-data", ["spec", "dataSource", "kinds"], "VolumeSnapshot"),
        ("VolumeSnapshot", "orders-2026-11-26", ["spec", "source", "snapshotHandle"], "snap-1"),
        ("VolumeSnapshotContent", "orders-2026-11-26", ["spec", "deletionPolicy"], "Keep"),
    ],
)
def test_what_kubernetes_would_refuse_is_found(kind, name, path, value):
    wrong = copy.deepcopy(named(kind, name))
    *places, last = path
    part = wrong
    for place in places:
        part = part[place]
    part[last] = value
    assert complaint(wrong)


def test_what_a_manifest_names_is_in_another_one():
    pod = named("Pod", "orders")
    spec, space = pod["spec"], pod["metadata"]["namespace"]
    (volume,) = spec["volumes"]
    claim = named("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
    snapshot = named("VolumeSnapshot", claim["spec"]["dataSource"]["name"])
    content = named("VolumeSnapshotContent", snapshot["spec"]["source"]["volumeSnapshotContentName"])
    account = named("ServiceAccount", spec["serviceAccountName"])
    (init,) = spec["initContainers"]
    settings = named("ConfigMap", init["envFrom"][0]["configMapRef"]["name"])
    named("Namespace", space)
    assert {one["metadata"]["namespace"] for one in (claim, snapshot, account, settings)} == {space}
    reference = content["spec"]["volumeSnapshotRef"]
    assert (reference["name"], reference["namespace"]) == (snapshot["metadata"]["name"], space)
    storage, snapshots = named("StorageClass", "ebs-gp3"), named("VolumeSnapshotClass", "ebs")
    assert claim["spec"]["storageClassName"] == storage["metadata"]["name"]
    assert snapshot["spec"]["volumeSnapshotClassName"] == snapshots["metadata"]["name"]
    assert {storage["provisioner"], snapshots["driver"], content["spec"]["driver"]} == {"ebs.csi.aws.com"}
    mounts = {mount["mountPath"] for one in (init, *spec["containers"]) for mount in one["volumeMounts"]}
    assert mounts == {init["command"][init["command"].index("--device") + 1]}


def test_the_role_trusts_just_the_pod_s_service_account():
    account = named("ServiceAccount", "orders")["metadata"]
    trust = json.loads((FOLDER / "trust-service-account.json").read_text(encoding="utf-8"))
    subject = trust["Statement"][0]["Condition"]["StringEquals"]["OIDC_PROVIDER:sub"]
    assert subject == f"system:serviceaccount:{account['namespace']}:{account['name']}"
