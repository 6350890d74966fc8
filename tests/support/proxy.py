"""An HTTP proxy on loopback, through which an instance reaches S3 until a test cuts the way."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from tests.support.loopback import Loopback, QuietHandler


class Proxy:
    """Carries requests on; those of the methods in `cut` get no answer at all."""

    def __init__(self) -> None:
        self.cut: set[str] = set()
        self.refused: list[str] = []
        self.carried: list[str] = []
        outer = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                outer.carry(self, b"")

            def do_PUT(self) -> None:
                outer.carry(self, self.body())

        self._server = Loopback(Handler)
        self.environment = {"http_proxy": self._server.url}
        """What a command needs to go through it."""

    def carry(self, handler: QuietHandler, body: bytes) -> None:
        """One request, unless its way is cut."""
        if handler.command in self.cut:
            self.refused.append(handler.command)
            handler.close_connection = True
            return
        self.carried.append(handler.command)
        url = urlsplit(handler.path)
        connection = http.client.HTTPConnection(url.netloc, timeout=60)
        headers = {
            name: value for name, value in handler.headers.items() if name.lower() != "proxy-connection"
        }
        connection.request(handler.command, f"{url.path}?{url.query}", body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        handler.send_response(answer.status)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)
        connection.close()

    def close(self) -> None:
        """End the server."""
        self._server.close()
