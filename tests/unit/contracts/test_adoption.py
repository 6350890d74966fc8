"""A request for volumes that are there already: what it may say, and what makes no sense with them."""

from __future__ import annotations

import pytest

from rewarm.contracts.parsing import parse_restore_request
from rewarm.domain.errors import InvalidRequestError
from tests.support.builders import INSTANCE_ID, SOURCE_VOLUME_ID, ZONE

BY_ID = {"source": {"existing": {"volumeIds": [SOURCE_VOLUME_ID]}}}


def refusal(**parts):
    with pytest.raises(InvalidRequestError) as caught:
        parse_restore_request({**BY_ID, **parts})
    return str(caught.value)


@pytest.mark.parametrize(
    "existing",
    [{"volumeIds": [SOURCE_VOLUME_ID]}, {"instanceId": INSTANCE_ID}, {"tags": {"kubernetes.io/name": "db"}}],
)
def test_volumes_are_named_by_their_ids_by_an_instance_or_by_tags(existing):
    request = parse_restore_request({"source": {"existing": existing}})
    assert request.source.existing.to_json() | existing == request.source.existing.to_json()
    assert request.target.mode is None


@pytest.mark.parametrize("existing", [{}, {"instanceId": INSTANCE_ID, "tags": {"a": "b"}}])
def test_exactly_one_selector_is_allowed(existing):
    assert "exactly one of volumeIds, instanceId, tags is allowed" in refusal(source={"existing": existing})


@pytest.mark.parametrize(
    ("field", "parts"),
    [
        ("target.instanceId", {"target": {"instanceId": INSTANCE_ID}}),
        ("target.availabilityZone", {"target": {"availabilityZone": ZONE}}),
        ("volume.iops", {"volume": {"iops": 4_000}}),
        ("volume.tags", {"volume": {"tags": {"a": "b"}}}),
        ("drill", {"drill": {"runbook": "rewarm-orders"}}),
        ("after", {"after": {"mounts": [{"path": "/data"}]}}),
        ("onFailure", {"onFailure": "keep"}),
        ("objective.approveReplace", {"objective": {"approveReplace": True}}),
        ("objective.strategy", {"objective": {"strategy": "provisioned-rate"}}),
        ("objective.strategy", {"objective": {"strategy": "boosted-warm-up"}}),
    ],
)
def test_what_is_about_a_volume_to_make_or_to_move_is_refused(field, parts):
    assert refusal(**parts).startswith(f"{field}: does not go with source.existing: ")


def test_a_plain_restore_still_needs_a_target():
    with pytest.raises(InvalidRequestError, match=r"^target: is missing$"):
        parse_restore_request({"source": {"volumeId": SOURCE_VOLUME_ID}})


def test_a_boost_needs_the_consent_of_the_request():
    boosted = {"strategy": "boosted-warm-up"}
    assert refusal(objective=boosted).endswith("source.existing.boost allows it")
    existing = {"volumeIds": [SOURCE_VOLUME_ID], "boost": True}
    request = parse_restore_request({"source": {"existing": existing}, "objective": boosted})
    assert request.source.existing.boost
