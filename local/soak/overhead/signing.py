"""Signatures of version 4, without the arithmetic.

Why: none of the lab's services verifies a signature; of the header they read who signs and for which service,
and that is as it was. What else signing puts into a request (its date, the checksum of its body) is still put
there by botocore, and presigned URLs are signed wholly.
"""

from __future__ import annotations

from typing import Any

from botocore.auth import SIGV4_TIMESTAMP, SigV4Auth
from botocore.compat import get_current_datetime
from botocore.exceptions import NoCredentialsError

UNREAD = f"SignedHeaders=host;x-amz-date, Signature={'0' * 64}"
_AUTH: Any = SigV4Auth
_HEADER_ONLY = _AUTH._inject_signature_to_request
_ORIGINAL = _AUTH.add_auth


def _sign(self: Any, request: Any) -> None:
    """SigV4Auth.add_auth."""
    if type(self)._inject_signature_to_request is not _HEADER_ONLY:
        _ORIGINAL(self, request)
        return
    if self.credentials is None:
        raise NoCredentialsError
    request.context["timestamp"] = get_current_datetime().strftime(SIGV4_TIMESTAMP)
    self._modify_request_before_signing(request)
    request.headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={self.scope(request)}, {UNREAD}"


PATCHES: tuple[tuple[Any, str, Any], ...] = ((SigV4Auth, "add_auth", _sign),)
