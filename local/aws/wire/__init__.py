"""The AWS wire protocols in front of a Region: a server on loopback, and boto3 clients without a network."""

from __future__ import annotations

from local.aws.wire.inprocess import client
from local.aws.wire.server import Server, serve

__all__ = ["Server", "client", "serve"]
