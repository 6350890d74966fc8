"""What the fast lab spares botocore and moto comes to the same as what they do without it."""

from __future__ import annotations

import copy
import random
from contextlib import nullcontext
from typing import Any
from unittest import mock

import botocore.session
import pytest
from botocore.auth import SigV4Auth, SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.parsers import JSONParser
from botocore.useragent import UserAgentString
from moto.core.request import Request
from moto.core.responses import BaseResponse
from moto.core.utils import method_names_from_class
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.utilities import bytesize, dynamo_to_dict
from moto.dynamodb.parsing.expressions import UpdateExpressionParser

from local.soak.overhead import PATCHES, dispatch, expressions, items, request_ids, spared

URLS = (
    "https://dynamodb.us-east-1.amazonaws.com/",
    "http://127.0.0.1:1/",
    "https://s3.us-east-1.amazonaws.com/bucket/restores/restore-1/0/samples.json",
    "https://s3.us-east-1.amazonaws.com/bucket/a%20b?versionId=1%2B",
    "https://s3.us-east-1.amazonaws.com/bucket?list-type=2&prefix=restores/",
    "http://127.0.0.1:1/snapshots/snap-1/blocks?maxResults=10000",
    "https://sns.us-east-1.amazonaws.com",
    "https://s3.us-east-1.amazonaws.com//odd",
)
CONTENT_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded; charset=utf-8",
    "application/x-amz-json-1.0",
)
TEXTS = ("", "restore-1", "Grüße, 雪", "1.25")
UPDATES = (
    "SET #c0 = :c0, #c1 = :c1, expiresAt = if_not_exists(expiresAt, :expires)",
    "SET volumes.#v.story = list_append(if_not_exists(story, :none), :one), n = n + :one REMOVE #gone, l[2]",
    "ADD tries :one DELETE names :names SET a[0].b = :c",
)


def attribute(chance: random.Random, depth: int = 4) -> dict[str, Any]:
    """A random attribute value."""
    kind = chance.choice("SNBMLO0" if depth else "SNBO0")
    some = range(chance.randrange(4))
    match kind:
        case "S":
            return {"S": chance.choice(TEXTS)}
        case "N":
            return {"N": str(chance.randrange(1_000))}
        case "B":
            return chance.choice([{"B": "YWJj"}, {"SS": ["a", "ü"]}, {"NS": ["1", "20"]}, {"BS": ["YWJj"]}])
        case "M":
            return {"M": {f"{chance.choice(TEXTS)}{one}": attribute(chance, depth - 1) for one in some}}
        case "L":
            return {"L": [attribute(chance, depth - 1) for _ in some]}
    return {"BOOL": chance.random() < 0.5} if kind == "O" else {"NULL": True}


VALUES = [attribute(random.Random(seed)) for seed in range(200)]


def both(work: Any) -> tuple[Any, Any]:
    """(what comes of it as it is, what comes of it while a lab is open)."""
    found = []
    for frame in (nullcontext, spared):
        with frame():
            found.append(work())
    return found[0], found[1]


def same(work: Any) -> None:
    plain, ours = both(work)
    assert plain == ours


class TestItems:
    @pytest.mark.parametrize("value", VALUES[:50], ids=str)
    def test_a_value_is_told_copied_and_measured_alike(self, value):
        same(lambda: DynamoType(value).to_regular_json())
        same(lambda: DynamoType(DynamoType(value)).to_regular_json())
        same(lambda: copy.deepcopy(DynamoType(value)).to_regular_json())
        same(lambda: DynamoType(value).size())

    def test_random_items_are_alike(self):
        attrs = {f"name{number}": value for number, value in enumerate(VALUES)}
        hash_key = DynamoType({"S": "restore#1"})
        same(lambda: Item(hash_key, None, attrs).to_json())
        same(lambda: copy.deepcopy(Item(hash_key, None, attrs)).to_json())
        same(lambda: Item(hash_key, None, attrs).size())
        told = Item(hash_key, None, attrs).to_json()
        assert items._plain(told) == dynamo_to_dict(told)
        mixed = {
            "Items": [Item(hash_key, None, attrs).attrs, 1, None, True],
            "Item": Item(hash_key, None, attrs),
        }
        assert items._plain(mixed) == dynamo_to_dict(mixed)

    def test_a_copy_is_independent(self):
        original = DynamoType({"M": {"a": {"L": [{"S": "x"}]}, "s": {"SS": ["a"]}}})
        with spared():
            made = copy.deepcopy(original)
            told = original.to_regular_json()
        made.value["a"].value.append(DynamoType({"S": "y"}))
        made.value["s"].value.append("b")
        told["M"]["a"]["L"].append({"S": "z"})
        assert original.to_regular_json() == {"M": {"a": {"L": [{"S": "x"}]}, "s": {"SS": ["a"]}}}

    @pytest.mark.parametrize("value", [*TEXTS, b"abc", "a" * 1_000])
    def test_bytes(self, value):
        assert items._bytes(value) == bytesize(value)

    def test_a_value_of_no_type_is_refused_alike(self):
        with spared(), pytest.raises(IndexError):
            DynamoType({})


class TestAttributeValues:
    def answers(self) -> list[dict[str, Any]]:
        odd = [
            {"S": None},
            {"S": "a", "N": "1"},
            {},
            {"X": "unknown"},
            {"M": {"a": {"B": "YWJj"}}},
            {"L": [{}]},
        ]
        return [{"Item": {"value": value, "pk": {"S": "1"}}} for value in [*VALUES, *odd]]

    def test_answers_are_parsed_alike(self):
        model = botocore.session.get_session().get_service_model("dynamodb")
        shape, parser = model.operation_model("GetItem").output_shape, JSONParser()
        for answer in self.answers():
            same(lambda answer=answer: parser._parse_shape(shape, answer))


def shown(node: Any, parent: Any = None) -> Any:
    """A tree with the places of its parents."""
    if not hasattr(node, "children"):
        return node
    children = [shown(child, node) for child in node.children or ()]
    return type(node).__name__, node.type, node.parent is parent, children


class TestExpressions:
    @pytest.mark.parametrize("text", UPDATES)
    def test_a_tree_is_copied_as_it_is(self, text):
        tree = UpdateExpressionParser.make(text)
        ours, plain = expressions._copied(tree), copy.deepcopy(tree)
        assert shown(ours) == shown(plain) == shown(tree)
        assert ours is not tree
        assert not {id(one) for one in nodes(ours)} & {id(one) for one in nodes(tree)}

    @pytest.mark.parametrize("text", UPDATES)
    def test_clauses_are_found_alike(self, text):
        tree = UpdateExpressionParser.make(text)
        for kind in {type(one) for one in nodes(tree)}:
            same(lambda kind=kind: tree.find_clauses([kind]))

    def test_a_tree_is_parsed_once_a_text(self):
        with spared():
            assert UpdateExpressionParser.make(UPDATES[0]) is UpdateExpressionParser.make(UPDATES[0])


def nodes(node: Any) -> list[Any]:
    if not hasattr(node, "children"):
        return []
    return [node, *(one for child in node.children or () for one in nodes(child))]


class TestRequests:
    def request(self) -> AWSRequest:
        return AWSRequest("POST", "https://dynamodb.us-east-1.amazonaws.com/", {"X-Amz-Target": "a.B"}, b"{}")

    def signed(self, kind: Any) -> AWSRequest:
        request = self.request()
        kind(Credentials("local", "secret"), "dynamodb", "us-east-1").add_auth(request)
        return request

    def test_who_signs_for_which_service_is_told(self):
        plain, ours = both(lambda: self.signed(SigV4Auth))
        assert set(plain.headers) == set(ours.headers)
        credential = plain.headers["Authorization"].partition(",")[0]
        assert ours.headers["Authorization"].startswith(f"{credential}, SignedHeaders=")

    def test_a_presigned_url_is_signed_wholly(self):
        with mock.patch("botocore.auth.get_current_datetime", fixed_time):
            same(lambda: self.signed(SigV4QueryAuth).url)

    def test_the_user_agent_is_the_same(self):
        agent = UserAgentString.from_environment().set_session_config("Boto3", "1.0", "extra")
        same(agent.to_string)
        with spared():
            assert agent.to_string() is agent.to_string()

    @pytest.mark.parametrize("body", [None, b"", b"{}", "<a/>"], ids=str)
    @pytest.mark.parametrize("content_type", [None, *CONTENT_TYPES], ids=str)
    @pytest.mark.parametrize("url", URLS)
    def test_a_request_reaches_moto_alike(self, url, content_type, body):
        headers = {"X-Amz-Target": b"a.B", "Content-Length": "9", "Transfer-Encoding": b"chunked"}
        if content_type is not None:
            headers["Content-Type"] = content_type
        plain, ours = both(lambda: Request.from_primitives("PUT", url, headers, body))
        assert environ(plain) == environ(ours)
        assert (plain.url, plain.raw_url, plain.get_data()) == (ours.url, ours.raw_url, ours.get_data())
        assert (plain.args, list(plain.headers)) == (ours.args, list(ours.headers))

    def test_the_names_of_methods_are_the_same(self):
        assert dispatch._names(BaseResponse) == method_names_from_class(BaseResponse)

    def test_a_request_has_an_id_of_its_own(self):
        headers: dict[str, str] = {}
        made = request_ids._request_id(headers)
        assert headers == {"x-amzn-requestid": made}
        assert len(made) == request_ids.CHARACTERS
        assert request_ids._request_id() != made


def environ(request: Request) -> dict[str, Any]:
    """All but the streams."""
    mine = {name: value for name, value in request.environ.items() if not name.startswith("werkzeug.")}
    return {**mine, "wsgi.input": request.environ["wsgi.input"].getvalue()}


def fixed_time() -> Any:
    from datetime import UTC, datetime  # noqa: PLC0415

    return datetime(2027, 1, 15, 8, tzinfo=UTC)


def test_everything_is_as_before_once_the_lab_is_closed():
    before = [vars(where)[name] for where, name, _ in PATCHES]
    with spared():
        assert [vars(where)[name] for where, name, _ in PATCHES] != before
    assert [vars(where)[name] for where, name, _ in PATCHES] == before
