"""A Lambda finds the environment that AWS gives it, not the emulator's own.

Why: the emulator hands its own environment down, and an AWS_ENDPOINT_URL with it. AWS sets the function's
own variables and the "Defined runtime environment variables" (Lambda developer guide). Here AWS_CA_BUNDLE
comes on top: the certificates at AWS's names are this run's. What this process has in its environment by now
does not matter: settings are those that the embedded AWS was started with, and credentials those of the
execution role (Lambda developer guide, "Defining Lambda function permissions with an execution role").
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from local.aws.emulator import seam
from local.aws.emulator.lambda_starter import LambdaStarter

FunctionKeys = Callable[[str, str], Mapping[str, str]]
"""Role and name of a function -> its credentials, as variables."""
DOCUMENTED = frozenset(
    {"PATH", "LANG", "TZ", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
     "AWS_SESSION_TOKEN"}
)  # fmt: skip
"""What AWS sets for each function and the emulator happens to have as well."""
ADDED = frozenset({"AWS_CA_BUNDLE", "REWARM_STATE_DIR", "TMPDIR"})
"""The trust store; the mark by which a later start finds what is left over; and where /tmp is."""
_NOT_OF_AWS = frozenset({"AWS_ENDPOINT_URL", "AWS_DISABLE_HOST_PREFIX_INJECTION"})


def apply(settings: Mapping[str, str], keys: FunctionKeys, starter: LambdaStarter) -> None:
    """Mend the emulator's Lambda, with the settings that the embedded AWS was started with."""
    runtime = seam.module("core.lambda_runtime")
    seam.known(runtime.Worker, "_spawn", "spawn_env = {**os.environ, **env_vars}", "subprocess.Popen(")
    seam.known(runtime, "execution_credentials", '"AWS_SESSION_TOKEN": os.environ.get(')
    seam.replace(runtime, "subprocess", _Subprocess(runtime.subprocess, settings, starter))

    def of_role(config: Mapping[str, str]) -> dict[str, str]:
        return dict(keys(config["Role"], config["FunctionName"]))

    seam.replace(runtime, "execution_credentials", of_role)


class _Subprocess:
    """The module subprocess, whose processes have a function's environment."""

    def __init__(self, module: ModuleType, settings: Mapping[str, str], starter: LambdaStarter) -> None:
        self._module = module
        self._settings = settings
        self._starter = starter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def Popen(self, command: Sequence[str], *, cwd: str, env: Mapping[str, str], **options: Any) -> Any:  # noqa: N802
        """As subprocess.Popen."""
        found = of_function(env, self._settings)
        if command[-1].endswith("_worker.py"):
            return self._starter.start(command, cwd, found)
        return self._module.Popen(command, cwd=cwd, env=found, **options)


def of_function(given: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """What is left of an environment that the emulator gives a function."""
    wanted = {
        name: value
        for name, value in given.items()
        if name in DOCUMENTED or (name not in _NOT_OF_AWS and os.environ.get(name) != value)
    }
    started_with = {name: settings[name] for name in ADDED}
    # Without HOME, libraries would look into the files of whoever runs this.
    return {**wanted, **started_with, "HOME": settings["TMPDIR"]}
