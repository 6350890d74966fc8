"""Starts Lambda's Python processes as copies of one process that has loaded what they have in common.

A cold start takes a second of processor time. Most of it goes into packages such as boto3 and pydantic, and
into our modules, whose models pydantic builds. There are sixty functions, each of which starts cold on each
embedded AWS. What reads the environment is still loaded by each process itself.

This file is also the program of the process that is copied.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    import pydantic

PACKAGES = ("boto3", "pydantic", "pydantic.json_schema", "aws_xray_sdk.core", "aws_lambda_powertools")
PURE = tuple(f"rewarm/{name}" for name in ("contracts", "domain", "ports", "adapters", "steps"))
"""Folders of a function's code whose modules read no environment while they are loaded."""
COMMON = ("rewarm.contracts.request", "rewarm.steps.record")
"""Whose models many functions use; pydantic builds them when they are first used, again in each process."""
LARGEST_BYTES = 128 * 1024
"""Of an environment with its command; Linux's own limit for one variable."""


class LambdaProcess:
    """A process that `LambdaStarter` started: what the emulator uses of subprocess.Popen."""

    def __init__(self, pid: int, ends: Sequence[int]) -> None:
        """`ends`: our ends of its standard input, output and error."""
        self.pid = pid
        self.stdin: IO[str] = os.fdopen(ends[0], "w", buffering=1)
        self.stdout: IO[str] = os.fdopen(ends[1])
        self.stderr: IO[str] = os.fdopen(ends[2])
        try:
            self._handle: int | None = os.pidfd_open(pid)
        except ProcessLookupError:  # it has ended already
            self._handle = None

    def poll(self) -> int | None:
        """None while it runs. It is not our child, so nobody knows its exit status: 0."""
        return None if self._runs(0) else 0

    def wait(self, timeout: float) -> int:
        """Returns once it has ended; raises subprocess.TimeoutExpired after `timeout` seconds."""
        if self._runs(timeout):
            raise subprocess.TimeoutExpired("a function's process", timeout)
        return 0

    def terminate(self) -> None:
        """Ask it to end."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self._signal(signal.SIGKILL)

    def _runs(self, seconds: float) -> bool:
        if self._handle is None:
            return False
        if not select.select([self._handle], [], [], seconds)[0]:
            return True
        os.close(self._handle)
        self._handle = None
        return False

    def _signal(self, number: signal.Signals) -> None:
        if self._handle is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)


class LambdaStarter:
    """The process that is copied, one for a code. The first function starts it, and one after its end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._code = ""

    def start(self, command: Sequence[str], cwd: str, env: Mapping[str, str]) -> LambdaProcess:
        """The process of `command`, an interpreter and its script. Raises OSError."""
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        message = json.dumps({"script": command[1], "cwd": cwd, "env": dict(env)}).encode()
        code = str(Path(cwd).resolve())
        try:
            with self._lock:
                if code != self._code:
                    self.close()
                    self._code = code
                pid = self._ask(message, theirs, command[0], env)
        except OSError:
            for end in ours:
                os.close(end)
            raise
        finally:
            for end in theirs:
                os.close(end)
        return LambdaProcess(pid, ours)

    def close(self) -> None:
        """End the process that is copied, not its copies. Safe to call twice."""
        if self._channel is not None and self._server is not None:
            self._channel.close()
            self._server.wait()
            self._channel = self._server = None

    def _ask(self, message: bytes, files: list[int], interpreter: str, env: Mapping[str, str]) -> int:
        if self._server is not None and self._server.poll() is not None:
            self.close()
        if self._channel is None:
            self._begin(interpreter, env)
        assert self._channel is not None
        socket.send_fds(self._channel, [message], files)
        answer = self._channel.recv(64)
        if not answer:
            raise OSError("the process that starts functions has ended")
        return int(answer)

    def _begin(self, interpreter: str, env: Mapping[str, str]) -> None:
        """With a function's environment, which packages read when they are loaded."""
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LARGEST_BYTES)
        with theirs:
            self._server = subprocess.Popen(
                [interpreter, "-P", __file__, str(theirs.fileno()), self._code],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=dict(env), pass_fds=[theirs.fileno()],
            )  # fmt: skip


def serve(channel: socket.socket, code: Path) -> None:
    """Copy this process for each message, until the other end is closed; `code` is the functions' folder."""
    gc.disable()  # what is loaded stays
    for package in PACKAGES:
        importlib.import_module(package)
    time.time = _now
    _load_pure(code)
    time.time = _REAL_TIME
    gc.freeze()  # so that copies share the memory
    gc.enable()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for copies
    while True:
        message, files, _, _ = socket.recv_fds(channel, LARGEST_BYTES, 3)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            channel.close()
            _become(json.loads(message), files)
        for file in files:
            os.close(file)
        channel.send(str(pid).encode())


_REAL_TIME = time.time


def _now() -> float:
    """What modules keep of `time.time`: that of their copy, whose script replaces it with lab time."""
    return (_REAL_TIME if time.time is _now else time.time)()


def _load_pure(code: Path) -> None:
    """Load modules of `code` that are alike in each function, and build their models."""
    sys.path.insert(0, str(code))
    for folder in PURE:
        for module in sorted((code / folder).rglob("[!_]*.py")):
            with suppress(Exception):  # a function that needs it fails by itself, and says why
                importlib.import_module(".".join(module.relative_to(code).with_suffix("").parts))
    sys.path.remove(str(code))
    from pydantic import BaseModel

    for model in _models(BaseModel):
        if model.__module__.startswith(COMMON):
            model.model_rebuild(raise_errors=False)


def _models(parent: type[pydantic.BaseModel]) -> Iterator[type[pydantic.BaseModel]]:
    for model in parent.__subclasses__():
        yield model
        yield from _models(model)


def _become(wanted: dict[str, object], files: Sequence[int]) -> NoReturn:
    """Run the script as the interpreter would."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, file in enumerate(files):
            os.dup2(file, number)
            os.close(file)
        os.environ.clear()
        os.environ.update(wanted["env"])  # type: ignore[call-overload]
        os.chdir(str(wanted["cwd"]))
        script = str(wanted["script"])
        sys.argv = [script]
        sys.path.insert(0, str(Path(script).parent))
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), Path(sys.argv[2]))
