"""Tags of requests: taken as they are, or refused with a sentence."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from rewarm.contracts.base import parsed
from rewarm.contracts.fleets import FleetRequest
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import RestoreRequest
from rewarm.contracts.rules import AdoptionRule
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.tags import any_value, has_tags

ZONE = {"availabilityZone": "us-east-1a"}
PLACES = {
    "source": (RestoreRequest, lambda tags: {"source": {"tags": tags}, "target": ZONE}),
    "existing": (RestoreRequest, lambda tags: {"source": {"existing": {"tags": tags}}}),
    "volume": (
        RestoreRequest,
        lambda tags: {
            "source": {"snapshotId": "snap-0123456789abcdef0"},
            "target": ZONE,
            "volume": {"tags": tags},
        },
    ),
    "fleet-of-snapshots": (
        FleetRequest,
        lambda tags: {"source": {"tags": {"snapshots": tags}}, "target": ZONE},
    ),
    "fleet-of-volumes": (FleetRequest, lambda tags: {"source": {"tags": {"volumes": tags}}, "target": ZONE}),
    "fleet-item": (
        FleetRequest,
        lambda tags: {"source": {"items": [{"source": {"tags": tags}}]}, "target": ZONE},
    ),
    "rule": (AdoptionRule, lambda tags: {"match": {"volumeTags": tags}}),
}
TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=5)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "tags",
    [{"app": "a\0b"}, {"app": "\x1b[31m"}, {"app": "line\n"}, {"app": "\x85"}, {"a\0b": "x"}, {"\x7f": "x"}],
)
def test_control_characters_are_refused_everywhere(place, tags):
    model, body = PLACES[place]
    with pytest.raises(InvalidRequestError, match="allowed is text without control characters") as refused:
        parsed(model, body(tags))
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("tags", [{"": "x"}, {"  ": "x"}, {"k" * 129: "x"}, {"app": "x" * 257}])
def test_what_ec2_has_no_room_for_is_refused(tags):
    with pytest.raises(InvalidRequestError, match="allowed is a number of characters"):
        parsed(*of("source", tags))


@given(key=TEXT, value=TEXT)
def test_schema_and_parser_take_the_same_tags_and_change_none(key, value):
    model, body = of("source", {key: value})
    fits = Draft202012Validator(model.model_json_schema()).is_valid(body)
    try:
        taken = parse_restore_request(body).source.tags
    except InvalidRequestError:
        assert not fits
        return
    assert taken == {key: value}
    assert fits
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", key + value)


@given(
    st.dictionaries(TEXT, st.sampled_from(["*", "a", "a*"]), max_size=3),
    st.dictionaries(TEXT, TEXT, max_size=3),
)
def test_any_value_stands_for_each_value_and_nothing_else_does(wanted, tags):
    assert has_tags(wanted, tags) == (wanted.items() <= tags.items())
    fits = all(key in tags and (value == "*" or tags[key] == value) for key, value in wanted.items())
    assert has_tags(any_value(wanted), tags) == fits


def of(place, tags):
    model, body = PLACES[place]
    return model, body(tags)
