"""An HTTP server on loopback for tests, which tell it only how to answer."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(BaseHTTPRequestHandler):
    """A request handler that keeps its log lines to itself."""

    def log_message(self, *_: object) -> None:
        pass

    def body(self) -> bytes:
        """What was sent with the request."""
        return self.rfile.read(int(self.headers["Content-Length"]))


class Loopback:
    """Serves with `handler` from its making until `close`."""

    def __init__(self, handler: type[QuietHandler], path: str = "") -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}{path}"

    def close(self) -> None:
        """End the server and its thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
