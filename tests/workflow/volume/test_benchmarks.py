"""Benchmarks that a restore's request names: run on the device when the volume is fast, and in the report."""

from __future__ import annotations

from tests.support.stack.restores import RestoreUser, request_for


def test_the_report_has_the_figures_of_the_benchmarks(user: RestoreUser) -> None:
    request = request_for(user, "provisioned-rate")
    request["verify"] = {
        **request["verify"],
        "benchmarks": ["random-read", "init"],
        "benchmarkSeconds": 5,
    }
    done = user.restore(request)
    assert done.main.status == "SUCCEEDED", done.why
    (volume,) = user.report(done.restore_id)["volumes"]
    assert volume["benchmarkProblem"] is None
    assert volume["verified"] == "fast"
    assert [run["pattern"] for run in volume["benchmarks"]] == ["random-read", "init"]
    for run in volume["benchmarks"]:
        assert run["problem"] is None
        assert run["volumeId"] == volume["volumeId"]
        assert run["read"]["operations"] > 0
        assert run["write"] is None
        assert run["provisionedIops"] == 3_000
    assert user.counters(volume["volumeId"]).write_ops == 0
