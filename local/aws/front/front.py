"""Which part of the embedded AWS answers a request, by the name that it was sent to."""

from __future__ import annotations

from collections.abc import Callable

from moto.core.request import Request

from local.aws.front.addresses import Addresses, Place
from local.aws.front.listener import HttpAnswer, HttpRequest
from local.aws.region import Region
from local.aws.wire.protocol import SERVICES, Protocol

Headers = tuple[tuple[str, str], ...]
Emulator = Callable[[str, str, str, Headers, bytes], tuple[int, Headers, bytes]]
"""Method, path, query, headers and body in; status, headers and body out."""


class Front:
    """Everything that listens at AWS's names."""

    def __init__(self, addresses: Addresses, region: Region, emulator: Emulator) -> None:
        self._addresses = addresses
        self._protocol = Protocol(region)
        self._emulator = emulator

    def answer(self, request: HttpRequest) -> HttpAnswer:
        """The answer to one request, errors included."""
        place = self._addresses.place(request.host)
        if place is None:
            return HttpAnswer(421, (), f"AWS has nothing at {request.host} in this Region.\n".encode())
        if place.service in SERVICES:
            return self._by_region(request)
        return self._by_emulator(request, place)

    def _by_region(self, request: HttpRequest) -> HttpAnswer:
        url = f"https://{request.host}{request.path}?{request.query}"
        answer = self._protocol.answer(
            Request.from_primitives(request.method, url, dict(request.headers), request.body)
        )
        return HttpAnswer(answer.status_code, tuple(answer.headers.items()), answer.get_data())

    def _by_emulator(self, request: HttpRequest, place: Place) -> HttpAnswer:
        path = request.path
        if place.api_id:
            path = f"/_aws/execute-api/{place.api_id}{path}"
        return HttpAnswer(*self._emulator(request.method, path, request.query, request.headers, request.body))
