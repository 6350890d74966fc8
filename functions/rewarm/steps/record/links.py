"""Links to the page of a restore: presigned, so that whoever has one needs no AWS account."""

from __future__ import annotations

from contextlib import suppress

from rewarm.domain.errors import RestoreError
from rewarm.ports.artifacts import Artifacts

MESSAGE_SECONDS = 43_200
"""For the morning after. A link ends with the credentials of the function that signed it, which may be sooner
(S3 user guide, "Sharing objects with presigned URLs"); GET /restores/{id} answers a new one."""
ANSWER_SECONDS = 3_600


def page_url(key: object, artifacts: Artifacts, *, seconds: int) -> str | None:
    """None where there is no page; without a link the news are still news."""
    if not isinstance(key, str):
        return None
    with suppress(RestoreError):
        return artifacts.download_url(key, expires_seconds=seconds)
    return None
