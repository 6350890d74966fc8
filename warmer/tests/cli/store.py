"""A store on loopback for the command-line tests: gives and takes the files of a folder.

`store.py FOLDER` writes its address to FOLDER/address; each upload is kept as put-1, put-2 and so on.
"""

import http.server
import itertools
import pathlib
import sys

FOLDER = pathlib.Path(sys.argv[1])
COUNT = itertools.count(1)


class Store(http.server.BaseHTTPRequestHandler):
    """GET and PUT, without a word on the console."""

    def do_GET(self) -> None:
        """The file of the path, without its query."""
        path = FOLDER / self.path.partition("?")[0].lstrip("/")
        with (FOLDER / "gets").open("a", encoding="utf-8") as log:
            log.write(f"{self.path}\n")
        self.send_response(200 if path.is_file() else 403)
        self.end_headers()
        if path.is_file():
            self.wfile.write(path.read_bytes())

    def do_PUT(self) -> None:
        """Keep it under the next name."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        (FOLDER / f"put-{next(COUNT)}").write_bytes(body)
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """The test's own output stays readable."""


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
unfinished = FOLDER / "address.new"
unfinished.write_text(f"http://127.0.0.1:{server.server_port}", encoding="utf-8")
unfinished.rename(FOLDER / "address")
server.serve_forever()
