"""undo_store.py FOLDER [ranges=no] [fail=KIND,KIND…] [all=yes] [cut=SHARE]: a store on loopback that fails on request.

It gives files of the folder, with ranges, and takes uploads under their own names, never in place of another.
The first requests of packs and logs (with `all`, of manifests too) fail as KIND says: a status, drop (no
answer), cut (a SHARE of the answer is sent, or of the body read), late (it is kept, but nobody hears of
it), good. FOLDER/address has the address, FOLDER/log what was asked for.
"""

from __future__ import annotations

import http.server
import pathlib
import socket
import sys
import threading
from http import HTTPStatus

FOLDER = pathlib.Path(sys.argv[1])
OPTIONS = dict(one.split("=", 1) for one in sys.argv[2:])
SHARE = float(OPTIONS.get("cut", "0.5"))
KINDS = [one for one in OPTIONS.get("fail", "").split(",") if one]
LOCK = threading.Lock()


class Store(http.server.BaseHTTPRequestHandler):
    """GET and PUT, without a word on the console."""

    protocol_version = "HTTP/1.1"

    def kind(self) -> str:
        """How this request ends."""
        with LOCK:
            with (FOLDER / "log").open("a", encoding="utf-8") as log:
                log.write(f"{self.command} {self.path}\n")
            is_manifest = (
                self.path_of().name.startswith(("manifest", "part-")) and OPTIONS.get("all") != "yes"
            )
            return KINDS.pop(0) if KINDS and not is_manifest else "good"

    def path_of(self) -> pathlib.Path:
        """The file, without the query."""
        return FOLDER / self.path.partition("?")[0].lstrip("/")

    def drop(self) -> None:
        """End the connection without a word."""
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def answer(self, status: int, body: bytes = b"", *, of: int | None = None) -> None:
        """A whole answer, or one that is cut off before its `of` bytes."""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if of is None else of))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        """The file, or a range of it."""
        kind, path = self.kind(), self.path_of()
        if kind in {"drop", "late"}:
            self.drop()
        elif kind.isdigit():
            self.answer(int(kind))
        elif not path.is_file():
            self.answer(HTTPStatus.NOT_FOUND)
        else:
            self.give(path.read_bytes(), cut=kind == "cut")

    def give(self, body: bytes, *, cut: bool) -> None:
        """All of it or the range that is asked for; half of that."""
        status = HTTPStatus.OK
        if "Range" in self.headers and OPTIONS.get("ranges") != "no":
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            body, status = body[int(first) : int(last) + 1], HTTPStatus.PARTIAL_CONTENT
        self.answer(status, body[: int(len(body) * SHARE)] if cut else body, of=len(body))
        if cut:
            self.drop()

    def do_PUT(self) -> None:
        """Keep it, unless something of this name is there."""
        kind, path, length = self.kind(), self.path_of(), int(self.headers["Content-Length"])
        assert self.headers["If-None-Match"] == "*"
        assert "Transfer-Encoding" not in self.headers
        if kind == "drop":
            self.drop()
            return
        body = self.rfile.read(int(length * SHARE) if kind == "cut" else length)
        if kind == "cut" or len(body) < length:
            self.drop()
        elif kind.isdigit():
            self.answer(int(kind))
        elif path.exists():
            self.answer(HTTPStatus.PRECONDITION_FAILED)
        else:
            self.keep(path, body)
            if kind == "late":
                self.drop()
            else:
                self.answer(HTTPStatus.OK)

    def keep(self, path: pathlib.Path, body: bytes) -> None:
        """Whole or not at all, also where this program is killed."""
        unfinished = path.with_name(f"{path.name}.unfinished")
        unfinished.write_bytes(body)
        unfinished.rename(path)

    def log_message(self, *_: object) -> None:
        """The test's own output stays readable."""


class Server(http.server.ThreadingHTTPServer):
    """Connections that end early are no news."""

    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Nothing is printed."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Store)
    pending = FOLDER / "address.new"
    pending.write_text(f"http://127.0.0.1:{server.server_port}", encoding="utf-8")
    pending.rename(FOLDER / "address")
    server.serve_forever()
