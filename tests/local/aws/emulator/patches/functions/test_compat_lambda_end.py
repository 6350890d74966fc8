"""No Lambda begins while the emulator ends (compat_lambda_end.py)."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from local.aws.emulator import seam
from local.aws.emulator.patches.functions import compat_lambda_end


@pytest.fixture
def started(monkeypatch):
    """The names of the functions whose processes were started; none is, in truth."""
    names = []

    class Worker:
        def __init__(self, name):
            self.name = name

        def _spawn(self):
            """As the emulator's: subprocess.Popen("""
            names.append(self.name)

    runtime = SimpleNamespace(Worker=Worker)
    monkeypatch.setattr(seam, "module", lambda _name: runtime)
    monkeypatch.setattr(seam, "_undo", [])
    return SimpleNamespace(names=names, worker=Worker)


def test_a_function_that_is_called_on_the_way_out_gets_no_process(started):
    ended = threading.Event()
    compat_lambda_end.apply(ended)
    started.worker("before")._spawn()
    ended.set()
    with pytest.raises(RuntimeError, match="the embedded AWS is ending"):
        started.worker("late")._spawn()
    assert started.names == ["before"]
    seam.restore_all()
    started.worker("the next run's")._spawn()
    assert started.names == ["before", "the next run's"]
