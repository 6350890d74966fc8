"""A request as moto reads it, made of what botocore prepared.

Why: moto has werkzeug's builder of requests for tests make it, which takes the address to pieces and puts it
together again several times. The addresses of the lab are plain; what is not plain is left to werkzeug.
"""

from __future__ import annotations

import re
import sys
from io import BytesIO
from typing import Any

from botocore.httpchecksum import AwsChunkedWrapper
from moto.core.request import PRESERVED_HEADER_NAMES_ENVIRON_KEY, Request

_ORIGINAL: Any = Request.from_primitives
_PLAIN_URL = re.compile(
    r"(https?)://([a-z0-9.-]+)(:\d+)?(/(?:[A-Za-z0-9._-][A-Za-z0-9._/-]*)?)(?:\?([^#%+]*))?"
)
_PORTS = {"http": "80", "https": "443"}
_ENVIRON = {
    "SERVER_PROTOCOL": "HTTP/1.1",
    "wsgi.version": (1, 0),
    "wsgi.multithread": False,
    "wsgi.multiprocess": False,
    "wsgi.run_once": False,
}


def _made(method: str, url: str, headers: Any, body: Any = None) -> Request:
    """Request.from_primitives."""
    if isinstance(body, AwsChunkedWrapper):
        body = body.read()
    content = body.encode() if isinstance(body, str) else body or b""
    address, told = _PLAIN_URL.fullmatch(url), _told(headers)
    if address is None or not url.isascii() or told is None or not isinstance(content, bytes):
        made: Request = _ORIGINAL(method, url, headers, body)
        return made
    scheme, host, port, path, query = address.groups()
    environ: dict[str, Any] = {
        **_ENVIRON,
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path,
        "QUERY_STRING": query or "",
        "REQUEST_URI": path,
        "RAW_URI": path,
        "SERVER_NAME": host,
        "SERVER_PORT": port[1:] if port else _PORTS[scheme],
        "HTTP_HOST": f"{host}{port or ''}",
        "wsgi.url_scheme": scheme,
        "wsgi.input": BytesIO(content),
        "wsgi.errors": sys.stderr,
    }
    # The order is werkzeug's too: a body's type and length first, and the length last where there is no body.
    if "CONTENT_TYPE" in told:
        environ["CONTENT_TYPE"] = told.pop("CONTENT_TYPE")
    if content or environ.get("CONTENT_TYPE", "").startswith("application/x-www-form-urlencoded"):
        environ["CONTENT_LENGTH"] = str(len(content))
    environ |= told
    environ[PRESERVED_HEADER_NAMES_ENVIRON_KEY] = {}
    environ.setdefault("CONTENT_LENGTH", "0")
    return Request(environ)


def _told(headers: Any) -> dict[str, str] | None:
    """The headers under their names in WSGI; None where one is not plain."""
    told: dict[str, str] = {}
    for name, value in headers.items():
        text = value.decode() if isinstance(value, bytes) else value
        key = name.upper().replace("-", "_")
        if "_" in name or not isinstance(text, str) or f"HTTP_{key}" in told or key == "HOST":
            return None
        if key == "CONTENT_TYPE":
            if text.startswith("multipart/"):
                return None
            told[key] = text
        elif key not in ("CONTENT_LENGTH", "TRANSFER_ENCODING"):
            told[f"HTTP_{key}"] = text
    return told


PATCHES: tuple[tuple[Any, str, Any], ...] = ((Request, "from_primitives", staticmethod(_made)),)
