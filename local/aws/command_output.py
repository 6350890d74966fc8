"""Where SSM puts the whole output of commands that name a bucket or a log group."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


class CommandOutput:
    """The Region's OutputSink. Clients are made at the first output: the emulator starts after the Region."""

    def __init__(self, client: Callable[[str], Any]) -> None:
        self._client = client

    def put_object(self, bucket: str, key: str, body: bytes) -> None:
        """Store one object."""
        self._client("s3").put_object(Bucket=bucket, Key=key, Body=body)

    def put_log_events(self, group: str, stream: str, lines: list[str]) -> None:
        """Append lines to a log stream; make group and stream when they are missing, as SSM does."""
        logs = self._client("logs")
        for create, names in (
            (logs.create_log_group, {"logGroupName": group}),
            (logs.create_log_stream, {"logGroupName": group, "logStreamName": stream}),
        ):
            try:
                create(**names)
            except logs.exceptions.ResourceAlreadyExistsException:
                continue
        now = round(time.time() * 1000)
        events = [{"timestamp": now, "message": line} for line in lines if line]
        if events:
            logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)
