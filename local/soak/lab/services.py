"""The small services beside the Region: moto's SNS and Secrets Manager, and three of our own.

Step Functions is the interpreter, EventBridge matches the template's rules with moto's pattern matcher, and
CloudWatch shows what the Region publishes.
"""

from __future__ import annotations

import json
import re
import uuid
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSPreparedRequest
from moto.backends import get_backend
from moto.core.request import normalize_request
from moto.events.models import EventPattern
from werkzeug.exceptions import HTTPException

from local import Json
from local.aws.region.core import iso
from local.soak.lab.states.machines import StepFunctions
from local.soak.lab.template import ACCOUNT, REGION, Rule
from local.soak.lab.transport import Refusal

if TYPE_CHECKING:
    from local.soak.lab.scheduler import Scheduler

Answer = tuple[int, dict[str, str], bytes]
MOTO = ("sns", "secretsmanager")
_JSON = {"Content-Type": "application/x-amz-json-1.1"}


class Moto:
    """Topics and secrets, of one lab."""

    def __init__(self) -> None:
        for name in MOTO:
            get_backend(name).reset()  # type: ignore[call-overload]

    def respond(self, service: str, request: AWSPreparedRequest) -> Answer:
        """Whatever moto says; which service is asked need not be found out from the address."""
        asked, url = normalize_request(request), request.url.partition("?")[0]
        answer = next(method for pattern, method in _methods(service) if pattern.match(url))
        try:
            status, headers, body = answer(asked, asked.raw_url, asked.headers)
        except HTTPException as error:
            status, headers, body = error.code or 500, dict(error.get_headers()), error.get_body()
        return status, dict(headers), body.encode() if isinstance(body, str) else body


@cache
def _methods(service: str) -> list[tuple[re.Pattern[str], Any]]:
    """(address, what answers there), in moto's order."""
    return [(re.compile(url), method) for url, method in backend(service).urls.items()]


def backend(name: str) -> Any:
    backends: Any = get_backend(name)  # type: ignore[call-overload]
    return backends[ACCOUNT][REGION]


class CloudWatch:
    """AWS/EBS metrics."""

    def __init__(self) -> None:
        self._series: dict[tuple[str, tuple[tuple[str, str], ...]], dict[int, float]] = defaultdict(dict)

    def publish(self, _namespace: str, data: list[Json]) -> None:
        """What the Region has measured."""
        for one in data:
            self._series[one["MetricName"], _dimensions(one)][one["Timestamp"]] = one["Value"]

    def answer(self, operation: str, params: Json) -> Json:
        """GetMetricData; one datapoint a minute needs no statistics."""
        if operation != "GetMetricData":
            raise NotImplementedError(f"CloudWatch {operation}")
        results = [self._result(query, params) for query in params["MetricDataQueries"]]
        return {"MetricDataResults": results, "Messages": []}

    def _result(self, query: Json, params: Json) -> Json:
        metric = query["MetricStat"]["Metric"]
        series = self._series.get((metric["MetricName"], _dimensions(metric)), {})
        minutes = sorted(series)
        first = bisect_left(minutes, params["StartTime"])
        last = bisect_left(minutes, params["EndTime"])
        chosen = minutes[first:last]
        if params.get("ScanBy") != "TimestampAscending":
            chosen.reverse()
        return {
            "Id": query["Id"],
            "Label": metric["MetricName"],
            "Timestamps": chosen,
            "Values": [series[minute] for minute in chosen],
            "StatusCode": "Complete",
        }


def _dimensions(one: Json) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((item["Name"], item["Value"]) for item in one["Dimensions"]))


class EventBridge:
    """The default bus with the template's rules. `target` delivers an event to a function or a machine."""

    def __init__(
        self, scheduler: Scheduler, rules: tuple[Rule, ...], target: Callable[[Rule, Json], None]
    ) -> None:
        self.sent: list[Json] = []
        """Rewarm's own events, with the lab's time."""
        self._scheduler = scheduler
        self._target = target
        self._patterns = [
            (rule, EventPattern.load(json.dumps(rule.pattern))) for rule in rules if rule.pattern
        ]

    def put(self, detail_type: str, source: str, detail: Json, resources: list[str], **fields: str) -> None:
        """An event as AWS's services send it; each rule that fits gets it a little later.

        `fields` replace its own, such as `time`.
        """
        event: Any = {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": detail_type,
            "source": source,
            "account": ACCOUNT,
            "time": iso(self._scheduler.now),
            "region": REGION,
            "resources": resources,
            "detail": detail,
            **fields,
        }
        for rule, pattern in self._patterns:
            if pattern.matches_event(event):
                self._scheduler.after(0.2, lambda rule=rule: self._target(rule, event))  # type: ignore[misc]

    def answer(self, operation: str, params: Json) -> Json:
        """PutEvents."""
        if operation != "PutEvents":
            raise NotImplementedError(f"EventBridge {operation}")
        for entry in params["Entries"]:
            detail = json.loads(entry["Detail"])
            at = self._scheduler.now
            self.sent.append({"detail-type": entry["DetailType"], "detail": detail, "at": at})
            self.put(entry["DetailType"], entry["Source"], detail, entry.get("Resources", []))
        ids = [{"EventId": str(uuid.uuid4())} for _ in params["Entries"]]
        return {"FailedEntryCount": 0, "Entries": ids}


class ServiceError(Exception):
    """A service of ours refuses."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


class StepFunctionsApi:
    """The API of the interpreter, as far as our functions use it."""

    def __init__(self, service: StepFunctions) -> None:
        self._service = service

    def answer(self, operation: str, params: Json) -> Json:
        """Returns the answer to a call of Step Functions. Raises ServiceError."""
        match operation:
            case "StartExecution":
                return self._start(params)
            case "DescribeExecution":
                return self._service.describe(self._find(params["executionArn"]))
            case "ListExecutions":
                return self._list(params)
            case "StopExecution":
                found = self._find(params["executionArn"])
                self._service.stop(found.arn, params.get("error", ""), params.get("cause", ""))
                return {"stopDate": self._service.scheduler.now}
            case "SendTaskSuccess":
                if not self._service.succeed(params["taskToken"], json.loads(params["output"])):
                    raise ServiceError(
                        Refusal("TaskTimedOut", "Task Timed Out: 'Provided task does not exist'")
                    )
                return {}
        raise NotImplementedError(f"Step Functions {operation}")

    def _list(self, params: Json) -> Json:
        """The latest first, a page of a hundred at most unless more are asked for."""
        shown = ("executionArn", "stateMachineArn", "name", "status", "startDate", "stopDate")
        wanted = [
            execution
            for execution in reversed(self._service.executions.values())
            if execution.machine.arn == params["stateMachineArn"]
            and params.get("statusFilter", execution.status) == execution.status
        ]
        start, size = int(params.get("nextToken", 0)), int(params.get("maxResults") or 100)
        told = [self._service.describe(one) for one in wanted[start : start + size]]
        page: Json = {"executions": [{name: one[name] for name in shown if name in one} for one in told]}
        return page if start + size >= len(wanted) else {**page, "nextToken": str(start + size)}

    def _find(self, arn: str) -> Any:
        if arn not in self._service.executions:
            raise ServiceError(Refusal("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'"))
        return self._service.executions[arn]

    def _start(self, params: Json) -> Json:
        """StartExecution: the same name and input give the same execution while it runs."""
        data = json.loads(params["input"])
        try:
            made = self._service.start(params["stateMachineArn"], params["name"], data)
        except ValueError as taken:
            made = self._service.executions[str(taken)]
            if made.status != "RUNNING" or made.input != data:
                message = f"Execution Already Exists: '{made.arn}'"
                raise ServiceError(Refusal("ExecutionAlreadyExists", message)) from None
        return {"executionArn": made.arn, "startDate": made.started}


def json_answer(operation: str, request: AWSPreparedRequest, answer: Callable[[str, Json], Json]) -> Answer:
    """One call of a JSON service."""
    body: Any = request.body
    try:
        told = answer(operation, json.loads(body or b"{}"))
    except ServiceError as error:
        refusal = error.refusal
        failed = json.dumps({"__type": refusal.code, "message": refusal.message}).encode()
        return refusal.status, {**_JSON, "x-amzn-ErrorType": refusal.code}, failed
    return 200, _JSON, json.dumps(told).encode()
