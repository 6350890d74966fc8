"""A Lambda finds the environment that AWS gives it, not the emulator's own.

Why: the emulator hands its own environment down, and an AWS_ENDPOINT_URL with it. AWS sets the function's
own variables and the "Defined runtime environment variables" (Lambda developer guide). Here AWS_CA_BUNDLE
comes on top: the certificates at AWS's names are this run's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from local.aws.emulator import seam

DOCUMENTED = frozenset(
    {"PATH", "LANG", "TZ", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
     "AWS_SESSION_TOKEN"}
)  # fmt: skip
"""What AWS sets for each function and the emulator happens to have as well."""
ADDED = frozenset({"AWS_CA_BUNDLE", "REWARM_STATE_DIR", "TMPDIR"})
"""The trust store; the mark by which a later start finds what is left over; and where /tmp is."""
_NOT_OF_AWS = frozenset({"AWS_ENDPOINT_URL", "AWS_DISABLE_HOST_PREFIX_INJECTION"})


def apply() -> None:
    """Mend the emulator's Lambda."""
    runtime = seam.module("core.lambda_runtime")
    seam.known(runtime.Worker, "_spawn", "spawn_env = {**os.environ, **env_vars}", "subprocess.Popen(")
    seam.replace(runtime, "subprocess", _Subprocess(runtime.subprocess))


class _Subprocess:
    """The module subprocess, whose processes have a function's environment."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def Popen(self, *arguments: Any, env: Mapping[str, str], **options: Any) -> Any:  # noqa: N802
        """As subprocess.Popen."""
        return self._module.Popen(*arguments, env=of_function(env), **options)


def of_function(given: Mapping[str, str]) -> dict[str, str]:
    """What is left of an environment that the emulator gives a function."""
    wanted = {
        name: value
        for name, value in given.items()
        if name in DOCUMENTED | ADDED or (name not in _NOT_OF_AWS and os.environ.get(name) != value)
    }
    # Without it, libraries would look into the files of whoever runs this.
    return {**wanted, "HOME": given["TMPDIR"]}
