"""What a step needs from the world: one module for each outside world.

adapters/ implements the protocols on AWS, tests/support in memory. Every method may raise ThrottledError,
ServiceUnavailableError, AccessDeniedError and RequestRefusedError; further errors are named at the method.
"""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]
