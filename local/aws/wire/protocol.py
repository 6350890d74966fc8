"""AWS requests in, AWS answers out, by botocore's service models.

moto does the protocol work: its routers, parsers and serializers know EC2 query, JSON 1.1 and REST-JSON.
Nothing else of moto is used: the behaviour is the Region's.
"""

from __future__ import annotations

import copy
import logging
import re
import uuid
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import cache
from typing import Any, cast
from urllib.parse import parse_qsl

from botocore.awsrequest import AWSPreparedRequest
from moto.core.model import OperationModel, ServiceModel
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import Request, determine_request_protocol, normalize_request
from moto.core.routing import ServiceOperationRouter
from moto.core.serialize import SerializationContext, get_serializer_class
from moto.core.utils import get_service_model
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from local.aws.region import ApiError, Region
from local.aws.region.snapshots.block_pages import BlockPage
from local.aws.wire.validation import check

LOG = logging.getLogger(__name__)

SERVICES = {
    "ec2": "ec2",
    "ebs": "ebs",
    "ssm": "ssm",
    "kms": "kms",
    "cloudtrail": "cloudtrail",
    "pricing": "pricing",
    "servicequotas": "service-quotas",
    "dlm": "dlm",
    "backup": "backup",
}
"""Signing name in the credential scope -> botocore service name."""

CBOR_PATH = re.compile(r"/service/[^/]+/operation/(\w+)")
"""Smithy RPC v2 CBOR, in which CloudWatch is called; no permission depends on its parameters."""
IN_THE_BODY = ("ec2", "json")
"""Protocols that need neither path nor query."""
Answer = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""
SCOPE = re.compile(r"Credential=[^/]+/\d{8}/([^/]+)/([^/]+)/aws4_request")


class Protocol:
    """Answers HTTP requests from a Region."""

    def __init__(self, region: Region) -> None:
        self._region = region

    def answer(self, request: Request) -> Response:
        """The response to one signed AWS request, errors included."""
        region, signing_name = _scope(request)
        service = SERVICES.get(signing_name)
        if service is None:
            return Response(f"no modelled service signs as {signing_name!r}\n", 400)
        request_id = str(uuid.uuid4())
        model, router = _service(service)
        try:
            operation, path_parameters = router.match(request)
        except NotFound:
            status, headers, body = self._error(_any_operation(model), _unknown(request, service), request_id)
        else:
            parts = _parts(request, path_parameters)
            status, headers, body = self._answered(region, operation, parts, request_id)
        return Response(body, status, headers)

    def reply(self, region: str, service: str, name: str, request: AWSPreparedRequest) -> Answer:
        """The same for a client in this process, which says what it asks for."""
        request_id = str(uuid.uuid4())
        operation = _service(service)[0].operation_model(name)
        if str(operation.service_model.protocol) in IN_THE_BODY:
            parts = _body(request)
        else:
            normalized = normalize_request(request)
            parts = _parts(normalized, _service(service)[1].match(normalized)[1])
        return self._answered(region, operation, parts, request_id)

    def _answered(
        self, region: str, operation: OperationModel, parts: dict[str, Any], request_id: str
    ) -> Answer:
        service = operation.service_model.service_name
        try:
            result = self._call(region, operation, parts)
        except ApiError as error:
            return self._error(operation, error, request_id)
        except Exception as error:
            LOG.exception("%s %s failed", service, operation.name)
            return self._error(operation, _internal(service, error), request_id)
        return self._respond(_serialized(operation, result, request_id), request_id)

    def _call(self, region: str, operation: OperationModel, parts: dict[str, Any]) -> dict[str, Any]:
        service = operation.service_model.service_name
        params = _parse(operation, parts)
        if (service, operation.name) not in self._region.operations:
            raise ApiError(
                _unknown_code(service), f"{service} {operation.name} is not modelled by this Region"
            )
        check(operation, params)
        called = self._region.neighbours.get(region, self._region)
        return called.call(service, operation.name, params)

    def _error(self, operation: OperationModel, error: ApiError, request_id: str) -> Answer:
        with warnings.catch_warnings():
            # A code such as ThrottlingException is in no service model, and yet AWS sends it.
            warnings.simplefilter("ignore")
            serialized = _serializer(operation, request_id)(error)
        serialized["status_code"] = error.status
        return self._respond(serialized, request_id)

    def _respond(self, serialized: dict[str, Any], request_id: str) -> Answer:
        headers = {**serialized["headers"], "x-amzn-RequestId": request_id, "Date": self._date()}
        body = serialized["body"]
        return serialized["status_code"], headers, body.encode() if isinstance(body, str) else body

    def _date(self) -> str:
        return format_datetime(datetime.fromtimestamp(self._region.now(), UTC), usegmt=True)


OTHER_NAMES = {"monitoring": "cloudwatch", "states": "stepfunctions"}
"""The same, for services that the Region does not answer; others have the same name in both."""


def called(signing_name: str, request: Request) -> tuple[str, str, dict[str, Any]] | None:
    """Service, operation and parameters as botocore has them; None for an unknown operation."""
    service = {**OTHER_NAMES, **SERVICES}.get(signing_name, signing_name)
    by_cbor = CBOR_PATH.fullmatch(request.path)
    if by_cbor:
        return service, by_cbor[1], {}
    router = _service(service)[1]
    try:
        operation, path_parameters = router.match(request)
    except NotFound:
        return None
    wire_protocol = determine_request_protocol(_service(service)[0], request.content_type)
    return service, operation.name, _parse(operation, _parts(request, path_parameters), wire_protocol)


@cache
def _service(name: str) -> tuple[ServiceModel, ServiceOperationRouter]:
    model = get_service_model(name)
    if name == "s3":
        model = ServiceModel(_with_buckets(vars(model)["_service_description"]), name)
    return model, ServiceOperationRouter(model)


def _with_buckets(description: dict[str, Any]) -> dict[str, Any]:
    """The model as it is published: a client of botocore takes the bucket out of paths of the one it has."""
    published = copy.deepcopy(description)
    for operation in published["operations"].values():
        if "authPath" in operation["http"]:
            operation["http"]["requestUri"] = f"/{{Bucket}}{operation['http']['requestUri']}"
    return published


def _parts(request: Request, path: dict[str, Any]) -> dict[str, Any]:
    """What a parser reads."""
    return {
        "body": request.get_data(),
        "headers": request.headers,
        "method": request.method,
        "url_params": path,
        "url_path": request.path,
        "values": request.values,
    }


def _body(request: AWSPreparedRequest) -> dict[str, Any]:
    """The same of a protocol that has everything in the body."""
    given: Any = request.body or b""
    body = given.encode() if isinstance(given, str) else given
    values = dict(parse_qsl(body.decode(), keep_blank_values=True)) if not body.startswith(b"{") else {}
    return {
        "body": body,
        "headers": request.headers,
        "method": request.method,
        "url_params": {},
        "url_path": "/",
        "values": values,
    }


def _parse(operation: OperationModel, parts: dict[str, Any], wire_protocol: str = "") -> dict[str, Any]:
    parser = PROTOCOL_PARSERS[wire_protocol or str(operation.service_model.protocol)](operation)
    try:
        parsed = parser.parse(cast("Any", parts))
    except (ValueError, TypeError, AttributeError) as error:
        if operation.service_model.protocol == "ec2":
            raise ApiError("InvalidParameterValue", f"The request is not well-formed: {error}") from error
        raise ApiError("SerializationException", f"The request is not well-formed: {error}") from error
    # The parser makes an empty list of one that is not in the query.
    members = operation.input_shape.members if operation.input_shape is not None else {}
    in_query = {
        name for name, shape in members.items() if shape.serialization.get("location") == "querystring"
    }
    return {name: value for name, value in parsed.items() if value != [] or name not in in_query}


def _serialized(operation: OperationModel, result: dict[str, Any], request_id: str) -> dict[str, Any]:
    """The answer by the model; pages of blocks and bytes write themselves, which is much faster."""
    serializer = _serializer(operation, request_id)
    apart = {name: value for name, value in result.items() if isinstance(value, (BlockPage, bytes))}
    serialized = serializer({name: value for name, value in result.items() if name not in apart})
    for name, value in apart.items():
        if isinstance(value, bytes):
            # The service's only bytes are a payload: the whole body.
            serialized["body"] = value
            serialized["headers"]["Content-Type"] = "application/octet-stream"
        else:
            rest = serialized["body"].strip().removeprefix("{")
            serialized["body"] = f'{{"{name}":{value.json()},{rest}'
    return serialized


def _serializer(operation: OperationModel, request_id: str) -> Callable[[Any], dict[str, Any]]:
    kind = get_serializer_class(operation.service_model.service_name, str(operation.service_model.protocol))
    serializer = kind(operation, context=SerializationContext(request_id))

    def serialize(result: Any) -> dict[str, Any]:
        return dict(serializer.serialize(result))

    return serialize


def _scope(request: Request) -> tuple[str, str]:
    """Region and service that the request is signed for."""
    found = SCOPE.search(request.headers.get("Authorization", ""))
    return (found.group(1), found.group(2)) if found else ("", "")


def _any_operation(model: ServiceModel) -> OperationModel:
    """An operation to write an error with: all of a service write errors alike."""
    operation: OperationModel = model.operation_model(model.operation_names[0])
    return operation


def _unknown(request: Request, service: str) -> ApiError:
    target = request.headers.get("X-Amz-Target") or request.values.get("Action") or request.path
    return ApiError(_unknown_code(service), f"The action {target} is not valid for this web service.")


def _unknown_code(service: str) -> str:
    """EC2 answers InvalidAction, the JSON services UnknownOperationException."""
    return "InvalidAction" if service == "ec2" else "UnknownOperationException"


def _internal(service: str, error: Exception) -> ApiError:
    code = {"ec2": "InternalError", "ebs": "InternalServerException"}.get(service, "InternalServerError")
    return ApiError(code, f"{type(error).__name__}: {error}", 500)
