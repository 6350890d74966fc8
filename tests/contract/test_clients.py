"""The clients that functions make are botocore's own; they only read its models in less time."""

from __future__ import annotations

import re
from functools import cache

import boto3
import pytest
from botocore.exceptions import DataNotFoundError
from botocore.loaders import Loader

from rewarm.adapters import clients
from tests.support.tree import ROOT

WIRING = (ROOT / "functions/rewarm/wiring.py").read_text(encoding="utf-8")
SERVICES = sorted({*re.findall(r'_client\("([a-z-]+)"\)', WIRING), "ebs", "pricing", "s3"})
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
    own = Loader()
    assert [model(loader, service, kind) for kind in MODELS] == [model(own, service, kind) for kind in MODELS]


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
