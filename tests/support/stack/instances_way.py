"""S3 as instances see it: a test lets it fail for them, and for nobody else."""

from __future__ import annotations

from local.aws.front.front import Front
from local.aws.front.listener import HttpAnswer, HttpRequest

_PROGRAM = "curl/"
"""What instances reach S3 with; functions use boto3."""
_UNAVAILABLE = b"<Error><Code>ServiceUnavailable</Code></Error>"


class InstancesWay:
    """Counts the requests of instances; those of the methods in `cut` get 503 (S3's "Error responses")."""

    def __init__(self, front: Front) -> None:
        self.cut: set[str] = set()
        self.refused: list[str] = []
        self.carried: list[str] = []
        self._answer = front.answer

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """One request, in the place of Front.answer."""
        if not request.header("user-agent").startswith(_PROGRAM):
            return self._answer(request)
        if request.method in self.cut:
            self.refused.append(request.method)
            return HttpAnswer(503, (("Content-Type", "application/xml"),), _UNAVAILABLE)
        self.carried.append(request.method)
        return self._answer(request)
