"""Benchmarks beside the measurement, as `verify.benchmarks` wants them."""

from __future__ import annotations

from typing import Any

import pytest

from rewarm.contracts.events import VerifyVolumeEvent
from rewarm.contracts.results import VerifyVolumeResult
from rewarm.domain.errors import (
    AccessDeniedError,
    InvalidRequestError,
    RestoreError,
    ServiceUnavailableError,
    ThrottledError,
)
from rewarm.steps.record.bucket import benchmark_output_key
from rewarm.steps.verify.benchmarks import BenchmarkPorts
from rewarm.steps.verify.verify_volume import VerifyVolumePorts, verify_volume
from tests.support.builders import (
    RESTORE_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    instance,
    measurement,
    request,
)
from tests.support.fakes import FakeCommands
from tests.support.values.fio_outputs import account, run_text, side

WANTED: dict[str, Any] = {"verify": {"benchmarks": ["random-read", "init"], "benchmarkSeconds": 10}}
KEY = benchmark_output_key(f"{RESTORE_ID}-0")


class Bench:
    def __init__(self, **changes: Any) -> None:
        self.world, self.fio, self.changes = World(), FakeCommands(), changes or WANTED
        self.ports = BenchmarkPorts(self.fio, self.world.instances, self.world.volumes, self.world.artifacts)

    def verify(
        self, pending: VerifyVolumeResult | None = None, *, minute: float = 0, phase: str = "after"
    ) -> VerifyVolumeResult:
        event = VerifyVolumeEvent(
            restore_id=RESTORE_ID, now=at(minute), request=request(**self.changes), volume=assignment(),
            volume_id=VOLUME_ID, phase=phase, pending=pending,
        )  # fmt: skip
        return verify_volume(
            event,
            VerifyVolumePorts(
                commands=self.world.commands,
                instances=self.world.instances,
                artifacts=self.world.artifacts,
                table=self.world.table,
                benchmarks=self.ports,
            ),
        )

    def measured(self) -> VerifyVolumeResult:
        """The agent has found it fast."""
        pending = self.verify()
        self.world.commands.finish("command-1", stdout=measurement())
        return self.verify(pending, minute=1)


class TestBenchmarks:
    def test_they_come_after_the_measurement_and_only_read(self) -> None:
        bench = Bench()
        pending = bench.measured()
        assert not pending.finished
        assert pending.verdict == "fast"
        ((_, _, parameters),) = bench.fio.sent
        assert parameters["targets"] == VOLUME_ID
        assert parameters["jobs"].startswith("random-read ")
        assert " / init " in parameters["jobs"]
        assert "--runtime=10" in parameters["jobs"]
        assert parameters["installFio"] == "no"

    def test_one_whose_id_cannot_be_noted_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nothing else tells of it: a retried state sends another one."""
        bench = Bench()
        pending = bench.verify()
        bench.world.commands.finish("command-1", stdout=measurement())

        def refuse(*_: object) -> None:
            raise ThrottledError("UpdateItem: slow down")

        monkeypatch.setattr(bench.world.table, "update_volume", refuse)
        with pytest.raises(ThrottledError):
            bench.verify(pending, minute=1)
        assert (len(bench.fio.sent), bench.world.commands.cancelled) == (1, ["command-1"])

    def test_the_figures_stand_in_the_result(self) -> None:
        bench = Bench()
        pending = bench.measured()
        waiting = bench.verify(pending, minute=1.5)
        assert not waiting.finished
        bench.fio.finish("command-1")
        bench.world.artifacts.texts[KEY] = run_text(VOLUME_ID, "random-read", account(side(1_633)))
        told = bench.verify(waiting, minute=3)
        assert told.finished
        assert (told.verdict, told.benchmark, told.benchmark_problem) == ("fast", None, None)
        assert [run.total_iops for run in told.benchmarks] == [1_633]
        assert told.benchmark_seconds == 120

    def test_what_goes_wrong_is_told_and_fails_nothing(self) -> None:
        bench = Bench()
        pending = bench.measured()
        bench.fio.finish(
            "command-1", status="Failed", status_details="Failed", exit_code=67, stderr="fio is not installed"
        )
        told = bench.verify(pending, minute=2)
        assert (told.finished, told.verdict, told.benchmarks) == (True, "fast", [])
        assert "fio is not installed" in (told.benchmark_problem or "")

    def test_one_that_never_ends_is_ended_and_fails_nothing(self) -> None:
        """Run Command would have ended it by then."""
        bench = Bench()
        pending = bench.measured()
        bench.fio.finish("command-1", status="InProgress", status_details="InProgress")
        assert not bench.verify(pending, minute=20).finished
        told = bench.verify(pending, minute=60)
        assert (told.finished, told.verdict, told.benchmarks) == (True, "fast", [])
        assert (told.benchmark_problem or "").startswith("no figures after 59 min: the command is ")
        assert bench.fio.cancelled == ["command-1"]

    @pytest.mark.parametrize("error", [ThrottledError("busy"), ServiceUnavailableError("no answer")])
    def test_a_look_that_fails_for_long_fails_nothing(
        self, error: RestoreError, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        bench = Bench()
        pending = bench.measured()

        def refuse(*_: object) -> None:
            raise error

        monkeypatch.setattr(bench.fio, "status", refuse)
        assert not bench.verify(pending, minute=5).finished
        told = bench.verify(pending, minute=60)
        assert (told.finished, told.verdict) == (True, "fast")
        assert str(error) in (told.benchmark_problem or "")

    def test_a_look_that_is_refused_fails_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = Bench()
        pending = bench.measured()

        def refuse(*_: object) -> None:
            raise AccessDeniedError("GetCommandInvocation: not authorized")

        monkeypatch.setattr(bench.fio, "status", refuse)
        told = bench.verify(pending, minute=5)
        assert told.finished
        assert "GetCommandInvocation" in (told.benchmark_problem or "")

    def test_a_windows_instance_has_none(self) -> None:
        bench = Bench()
        bench.world.instances.add(instance(platform="windows"))
        told = bench.measured()
        assert told.finished
        assert "for Linux" in (told.benchmark_problem or "")

    def test_a_throttled_call_is_tried_again(self) -> None:
        bench = Bench()
        bench.fio.failure = ThrottledError("Rate exceeded")
        with pytest.raises(ThrottledError):
            bench.measured()

    def test_without_the_wish_and_before_there_are_none(self) -> None:
        bench = Bench(verify={"samples": 64})
        assert bench.measured().finished
        before = Bench()
        pending = before.verify(phase="before")
        before.world.commands.finish("command-1", stdout=measurement())
        assert before.verify(pending, minute=1, phase="before").finished
        assert bench.fio.sent == before.fio.sent == []

    def test_without_a_measurement_they_still_run(self) -> None:
        bench = Bench(verify={"samples": 0, "benchmarks": ["init"]})
        told = bench.verify()
        assert (told.finished, told.verdict) == (False, "unmeasured")

    def test_patterns_that_write_are_refused(self) -> None:
        with pytest.raises(InvalidRequestError, match="random-read"):
            request(verify={"benchmarks": ["cache"]})
