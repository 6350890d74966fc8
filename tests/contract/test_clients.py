"""The clients that functions make are botocore's own; they only read its models in less time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache

import boto3
import pytest
from botocore.exceptions import DataNotFoundError
from botocore.loaders import Loader
from botocore.regions import EndpointResolver

from local.tools import models
from rewarm.adapters import clients
from tests.support.tree import ROOT

WIRING = (ROOT / "functions/rewarm/wiring.py").read_text(encoding="utf-8")
SERVICES = sorted({*re.findall(r'client\("([a-z0-9-]+)"', WIRING), "ebs", "pricing", "s3"})
MODELS = ("service-2", "endpoint-rule-set-1", "paginators-1", "waiters-2")


@pytest.fixture
def loader(monkeypatch):
    """Of the session that the first client makes."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    clients.client("sns")
    return boto3.DEFAULT_SESSION._session.get_component("data_loader")


def model(loader, service, kind):
    """None where botocore has none."""
    try:
        return loader.load_service_model(service, kind)
    except DataNotFoundError:
        return None


@pytest.mark.parametrize("service", SERVICES)
def test_a_model_is_the_one_that_botocore_reads(service, loader):
    own, kinds = Loader(), MODELS[service in models.SERVICES :]
    assert [model(loader, service, kind) for kind in kinds] == [model(own, service, kind) for kind in kinds]


def test_the_smaller_models_are_what_make_models_writes():
    """In a process for itself: a client of S3 changes the model that it is made from."""
    look = "from local.tools.models import texts; print([file.read_text() == text for file, text in texts()])"
    said = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    assert said.stdout.split() == str([True] * (len(models.SERVICES) + 1)).split(), "run `make models`"
    assert len(list(clients.MODELS.rglob("*.json"))) == len(models.SERVICES) + 1


def test_every_service_that_functions_call_has_a_smaller_model():
    assert sorted(models.SERVICES) == SERVICES


def test_the_shorter_list_of_endpoints_says_of_these_services_what_the_whole_says(loader):
    short, whole = (EndpointResolver(one.load_data("endpoints")) for one in (loader, Loader()))
    partitions = whole.get_available_partitions()
    assert short.get_available_partitions() == partitions
    regions = [name for one in whole._endpoint_data["partitions"] for name in one["regions"]]
    for service in SERVICES:
        name = model(loader, service, "service-2")["metadata"]["endpointPrefix"]
        for region in regions:
            assert short.construct_endpoint(name, region) == whole.construct_endpoint(name, region)
        for place in partitions:
            assert short.get_available_endpoints(name, place) == whole.get_available_endpoints(name, place)


def test_a_smaller_model_has_the_calls_of_adapters_with_their_shapes_and_nothing_else():
    whole = Loader().load_service_model("ec2", "service-2")
    small = models.smaller(whole, {"describe_volumes", "delete_volume"})
    assert set(small["operations"]) == {"DescribeVolumes", "DeleteVolume"}
    assert {"Volume", "VolumeAttachment", "DescribeVolumesResult"} <= set(small["shapes"])
    assert "Snapshot" not in small["shapes"]
    assert list(small["shapes"]["Volume"]["members"]) == list(whole["shapes"]["Volume"]["members"])
    assert '"documentation": "' not in json.dumps(small)


def test_all_clients_read_what_they_share_once(loader):
    clients.client("dynamodb")
    assert boto3.DEFAULT_SESSION._session.get_component("data_loader") is loader
    assert isinstance(loader, clients._Models)


def test_a_session_that_is_there_stays(monkeypatch):
    """Whoever gives a Region or a profile, as `make plan` does, has set it up."""
    there = boto3.Session(region_name="eu-west-3")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", there)
    assert clients.client("sns").meta.region_name == "eu-west-3"
    assert there is boto3.DEFAULT_SESSION


def test_an_unknown_service_is_an_error_as_before(loader):
    with pytest.raises(DataNotFoundError):
        clients.client("ec3")


def test_a_client_for_later_is_made_at_its_first_call_and_then_stays(loader):
    del loader
    made = []
    later = clients.later(cache(lambda: made.append("sns") or clients.client("sns")))
    assert made == []
    assert later.meta.region_name == later.meta.region_name
    assert made == ["sns"]
