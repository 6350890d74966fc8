"""`serve(region)`: the Region on 127.0.0.1, one thread a request."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from moto.core.request import Request
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from local.aws.region import Region
from local.aws.wire.protocol import Protocol


class _Quiet(WSGIRequestHandler):
    """A line for every request would hide what a person looks for."""

    disable_nagle_algorithm = True

    def send_response(self, code: int, message: str | None = None) -> None:
        """Only the status: `Date` is lab time and comes with the answer."""
        self.send_response_only(code, message)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


class Server:
    """A running server; `url` is what a client of EC2, or of another of its services, takes as endpoint."""

    def __init__(self, server: BaseWSGIServer) -> None:
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="region-wire", daemon=True
        )
        self._thread.start()
        self.port = server.server_port
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def serve(region: Region, port: int = 0) -> Server:
    """Serve the Region on loopback; port 0 takes a free one."""
    protocol = Protocol(region)

    def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        return protocol.answer(Request(environ))(environ, start_response)

    return Server(make_server("127.0.0.1", port, application, threaded=True, request_handler=_Quiet))
