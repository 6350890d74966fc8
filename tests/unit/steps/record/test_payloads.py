"""A hundred volumes: no payload of a state is larger than Step Functions carries."""

from __future__ import annotations

import json

import pytest

from rewarm.contracts.events import ReportEvent
from rewarm.contracts.values import Trigger
from rewarm.domain.errors import RequestRefusedError
from rewarm.steps.record.payloads import MOST_SHOWN_BYTES, is_small, read_object, read_volumes
from rewarm.steps.report.report import ReportPorts, report
from rewarm.steps.request.routes import GetRestorePorts, get_restore
from tests.support.builders import NOW, RESTORE_ID, at, request
from tests.support.fakes import FakeArtifacts
from tests.support.wired import wired
from tests.support.worlds.hundred import MOST_BYTES, VOLUMES, Restore, fits


def test_no_payload_of_a_hundred_volumes_is_too_large() -> None:
    restore = Restore()
    selected = restore.select()
    assert (selected.volume_count, selected.volumes) == (VOLUMES, [])
    planned = restore.choose(selected.volumes_key)
    assert (planned.indexes, planned.plans) == (list(range(VOLUMES)), [])
    assert len(planned.summary.notes) <= 21
    assert restore.tell(planned).count(", full speed in ") == len(planned.summary.schedule) <= 12
    results = [restore.carry_out(index) for index in planned.indexes]
    assert len(json.dumps(results)) < MOST_BYTES / 4, "the result of the Map"
    event = ReportEvent(
        **restore.common,
        started_at=NOW,
        deadline_at=at(120),
        request=restore.request,
        trigger=Trigger(kind="api"),
        plans_key=planned.plans_key,
        results=results,
    )
    world = restore.world
    told = report(
        event,
        wired(ReportPorts, world, draw=lambda _: None),
    )
    fits(event)
    fits(told)
    document = world.artifacts.objects[told.report_key]
    verdicts = [one["verdict"] for one in document["volumes"]]
    assert (verdicts.count("ready"), verdicts.count("failed")) == (66, 34)
    assert len(document["plans"]) == len(document["results"]) == VOLUMES
    record = get_restore(RESTORE_ID, wired(GetRestorePorts, world))
    assert len(record["plans"]) == record["volumeCount"] == VOLUMES
    assert record["plans"][99]["plan"]["why"], "nothing of a plan is left out"


def test_the_whole_of_it_is_in_the_bucket() -> None:
    restore = Restore()
    selected = restore.select()
    volumes = read_volumes(selected.volumes_key, restore.world.artifacts)
    assert [one.index for one in volumes] == list(range(VOLUMES))
    assert not is_small(volumes)
    assert len(json.dumps([one.to_json() for one in volumes])) > MOST_BYTES, "else this proves nothing"


def test_few_volumes_are_shown_as_well() -> None:
    restore = Restore()
    restore.request = request()
    selected = restore.select()
    assert [one.index for one in selected.volumes] == [0]
    assert [one.volume.index for one in restore.choose(selected.volumes_key).plans] == [0]
    assert MOST_SHOWN_BYTES * 4 <= MOST_BYTES


def test_what_is_gone_is_named() -> None:
    with pytest.raises(RequestRefusedError, match=r"^a\.json is no longer in the bucket"):
        read_object("a.json", FakeArtifacts())
