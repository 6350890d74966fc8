"""Free ports on loopback."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port that nobody listens on now. It isn't reserved: use it at once."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
