"""State Report."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from rewarm.contracts.events import ReportEvent
from rewarm.contracts.values import Failure, Trigger
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.domain.model import Strategy
from rewarm.steps.record.payloads import write_plans
from rewarm.steps.record.restore import RestoreNotes
from rewarm.steps.record.volume import VolumeNotes
from rewarm.steps.report.report import ReportPorts, report
from tests.support.builders import (
    INSTANCE_ID,
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    VOLUME_ID,
    World,
    assignment,
    at,
    measurement,
    plan,
    request,
    volume_plan,
)
from tests.support.values import accounts
from tests.support.wired import wired
from tests.support.worlds.recordings import keep


def ready(index=0, **changes):
    measured = {"finished": True, "verdict": "fast", "result": measurement()}
    return {
        "verdict": "ready",
        "index": index,
        "volumeId": VOLUME_ID,
        "snapshotId": SNAPSHOT_ID,
        "strategy": "warm-up-agent",
        "plan": plan().to_json(),
        "initialization": {"ready": True, "bytesDone": 42},
        "before": None,
        "after": measured,
        "readyAt": "2026-11-21T03:07:30.250Z",
        **changes,
    }


def failed(index=0, error="AgentFailedError", message="12 blocks unreadable"):
    inner = json.dumps({"errorMessage": message, "errorType": error})
    failure = json.dumps({"state": "Poll Initialization", "error": error, "cause": inner})
    nested = json.dumps({"Status": "FAILED", "Error": error, "Cause": failure})
    return {"verdict": "failed", "index": index, "error": "States.TaskFailed", "cause": nested}


def account(world, results, *, plans=None, minutes=30):
    event = ReportEvent(
        restore_id=RESTORE_ID,
        now=at(8),
        started_at=NOW,
        deadline_at=at(minutes) if minutes else None,
        request=request(),
        trigger=Trigger(kind="api"),
        plans_key=write_plans(RESTORE_ID, plans or [volume_plan()], world.artifacts),
        results=results,
    )
    return report(
        event,
        wired(ReportPorts, world, draw=lambda _: "<p>"),
    )


def two_plans():
    return [volume_plan(), volume_plan(volume=assignment(index=1))]


class TestReport:
    def test_sets_actual_against_estimate(self):
        result = account(World(), [ready()])
        assert result.verdict == "ready"
        (volume,) = result.volumes
        assert (volume.actual_seconds, volume.estimated_p50_seconds, volume.estimated_p90_seconds) == (
            450,
            480,
            840,
        )
        assert (result.actual_seconds, result.deadline_met, result.failure) == (480, True, None)
        assert volume.verified == "fast"
        assert volume.latency_after_ms is not None
        assert volume.latency_after_ms["p99"] == 1.9

    @pytest.mark.parametrize(("reads", "found"), [(40, {"p50": 0.7, "p99": 18.4}), (0, None)])
    def test_has_what_an_applications_reads_took_meanwhile(self, reads, found):
        agent = {"probeReads": reads, "probeLatencyMs": {"p50": 0.7, "p99": 18.4} if reads else {}}
        initialization = {"ready": True, "bytesDone": 42, "signals": {"agent": agent}}
        (volume,) = account(World(), [ready(initialization=initialization)]).volumes
        assert volume.latency_meanwhile_ms == found

    def test_keeps_everything_in_the_bucket(self):
        world = World()
        world.table.update(RESTORE_ID, {"approval": {"usd": "3.2", "by": "alice"}})
        result = account(world, [ready()])
        document = world.artifacts.objects[result.report_key]
        assert document["restoreId"] == RESTORE_ID
        assert document["results"][0]["volumeId"] == VOLUME_ID
        assert document["approval"]["by"] == "alice"

    def test_turns_the_record_to_ready(self):
        world = World()
        account(world, [ready()])
        assert world.table.records[RESTORE_ID]["status"] == "ready"
        assert world.table.records[RESTORE_ID]["finishedAt"] == "2026-11-21T03:08:00Z"

    def test_one_failed_volume_makes_the_restore_fail(self):
        result = account(World(), [ready(0), failed(1)], plans=two_plans())
        assert result.verdict == "failed"
        assert [volume.verdict for volume in result.volumes] == ["ready", "failed"]

    def test_tells_the_first_failure_in_plain_words(self):
        result = account(World(), [failed()])
        assert result.failure is not None
        assert (result.failure.error, result.failure.cause) == ("AgentFailedError", "12 blocks unreadable")
        assert result.failure.state == "Poll Initialization"

    def test_a_volume_without_a_result_has_failed(self):
        result = account(World(), [ready(0)], plans=two_plans())
        assert result.verdict == "failed"
        assert result.failure is not None
        assert "has no result" in result.failure.cause

    def test_a_cancelled_restore_is_cancelled_in_the_record(self):
        world = World()
        account(world, [failed(error="RestoreCancelledError", message="as asked for")])
        assert world.table.records[RESTORE_ID]["status"] == "cancelled"

    def test_says_that_the_deadline_was_missed(self):
        assert account(World(), [ready()], minutes=5).deadline_met is False

    def test_says_nothing_of_a_deadline_that_nobody_set(self):
        assert account(World(), [ready()], minutes=None).deadline_met is None

    def test_counts_the_price_of_the_plan_that_was_carried_out(self):
        fallback = plan(Strategy.PROVISIONED_RATE).to_json()
        result = account(World(), [ready(plan=fallback, strategy="provisioned-rate")])
        assert result.cost_usd == Decimal("0.0576")
        assert result.volumes[0].strategy == "provisioned-rate"

    def test_counts_what_aws_bills_even_for_a_failure(self):
        plans = [volume_plan(plan=plan(Strategy.PROVISIONED_RATE))]
        assert account(World(), [failed()], plans=plans).cost_usd == Decimal("0.0576")
        assert account(World(), [failed()]).cost_usd == Decimal(0)

    def test_counts_nothing_for_a_plan_that_nobody_approved(self):
        plans = [volume_plan(plan=plan(Strategy.PROVISIONED_RATE))]
        asked = {"usd": "0.0576", "endedAt": "2026-11-21T04:00:00Z"}
        world = World()
        world.table.update(RESTORE_ID, {"approval": asked})
        assert account(world, [failed()], plans=plans).cost_usd == Decimal(0)
        world.table.update(RESTORE_ID, {"approval": {**asked, "approvedAt": "2026-11-21T03:30:00Z"}})
        assert account(world, [failed()], plans=plans).cost_usd == Decimal("0.0576")


class TestAccount:
    """What the report says beyond verdict and price."""

    def test_tells_what_the_volume_promises_and_how_often_it_was_warmed_up(self):
        world = World()
        result, _ = accounts.reported(world, [accounts.planned()], [accounts.ready(warmUps=1)])
        (volume,) = result.volumes
        assert volume.expected is not None
        assert (volume.expected.p99_ms, volume.warm_ups) == (20.0, 1)

    def test_counts_by_the_clock_what_costs_by_the_hour(self):
        world = World()
        one = accounts.planned(strategy=Strategy.FAST_SNAPSHOT_RESTORE)
        result, _ = accounts.reported(world, [one], [accounts.ready(one=one)])
        (volume,) = result.volumes
        assert [(part.planned_usd, part.billed_usd) for part in volume.cost_parts] == [
            (Decimal("0.000005"), Decimal("0.000005")),
            (Decimal("1.50"), Decimal("0.75")),
        ]
        assert result.billed_usd == volume.billed_usd == Decimal("0.750005")

    def test_does_not_guess_what_a_boost_costs_that_goes_on(self):
        world = World()
        one = accounts.planned(strategy=Strategy.BOOSTED_WARM_UP)
        released = {
            **accounts.ready()["released"],
            "boost": {
                "state": "not-lowered",
                "boosted": "gp3 16,000 IOPS",
                "target": "gp3",
                "reason": "limit",
            },
        }
        result, _ = accounts.reported(world, [one], [accounts.ready(one=one, released=released)])
        assert result.billed_usd is None

    def test_the_page_lies_beside_the_account_and_the_record_knows_both(self):
        world = World()
        result = account(world, [ready()])
        assert result.page_key == f"restores/{RESTORE_ID}/report.html"
        assert world.artifacts.pages == {result.page_key: "<p>"}
        record = world.table.records[RESTORE_ID]
        assert (record["reportKey"], record["pageKey"]) == (result.report_key, result.page_key)

    def test_without_a_page_the_account_stands(self):
        world = World()
        result, document = accounts.reported(
            world, [accounts.planned()], [accounts.ready()], draw=lambda _: None
        )
        assert (result.verdict, result.page_key, document["pageKey"]) == ("ready", None, None)
        assert world.artifacts.pages == {}
        assert world.table.records[RESTORE_ID]["pageKey"] is None

    def test_keeps_how_the_initialization_went_on(self):
        world = World()
        accounts.keep_samples(world, 0, accounts.series(330, 9))
        _, document = accounts.reported(world, [accounts.planned()], [accounts.ready()])
        (found,) = document["samples"]
        assert (found["index"], len(found["samples"])) == (0, 10)


class TestOneVolume:
    """State Report Volume."""

    def test_of_several_each_has_a_folder_of_its_own_and_the_restore_goes_on(self):
        world = World()
        world.table.update(RESTORE_ID, {"status": "initializing"})
        result, document = accounts.reported(
            world, [accounts.planned(1)], [accounts.ready(1)], volume_index=1, volume_count=2
        )
        assert result.page_key == f"restores/{RESTORE_ID}/1/report.html"
        assert list(world.artifacts.pages) == [result.page_key]
        assert document["volumeIndex"] == 1
        assert world.table.records[RESTORE_ID] == {
            "status": "initializing",
            "report1": {"reportKey": result.report_key, "pageKey": result.page_key},
        }

    def test_the_only_one_has_the_page_of_the_restore(self):
        world = World()
        result, _ = accounts.reported(
            world, [accounts.planned()], [accounts.ready()], volume_index=0, volume_count=1
        )
        assert result.page_key == f"restores/{RESTORE_ID}/report.html"
        assert "status" not in world.table.records[RESTORE_ID]

    def test_it_teaches_nothing_twice(self):
        world = World()
        plans, results = [accounts.planned()], [accounts.ready()]
        accounts.reported(world, plans, results, volume_index=0)
        assert world.history.records() == []
        accounts.reported(world, plans, results)
        assert len(world.history.records()) == 1

    def first_reads(self, world, *, volume_id=VOLUME_ID, warmed=VOLUME_ID, found=True, **head):
        """What the report of a volume says, and then its record."""
        key = keep(world.artifacts, range(40), **head) if found else "recordings/vol-1/1-restore-1-0"
        notes = VolumeNotes(world.table, RESTORE_ID, 0)
        notes.note_made({"volumeId": VOLUME_ID}, None)
        notes.note_recording(volume_id, "command-2", INSTANCE_ID, key=key)
        if warmed:
            world.table.update_volume(RESTORE_ID, 0, {"command": {"volumeId": warmed}})
        asked = request(warmUp={"learn": {"minutes": 30}})
        result, document = accounts.reported(
            world, [accounts.planned()], [accounts.ready()], volume_index=0, request=asked
        )
        (volume,) = result.volumes
        assert document["volumes"][0]["firstReads"] == (volume.first_reads and volume.first_reads.to_json())
        return volume.first_reads, RestoreNotes(world.table, RESTORE_ID).read_whole()

    def test_what_an_application_read_cold_is_reported_and_stays_in_the_record(self):
        world = World()
        reads, record = self.first_reads(world, coldBlocks=7)
        assert (reads.blocks, reads.cold_blocks) == (40, 7)
        (shown,) = record.public()["volumes"]
        assert (shown["recording"]["blocks"], shown["recording"]["coldBlocks"]) == (40, 7)
        assert shown["recording"]["commandId"] == "command-2"
        del world.artifacts.texts[shown["recording"]["key"]]
        result, _ = accounts.reported(world, [accounts.planned()], [accounts.ready()])
        assert result.volumes[0].first_reads == reads, "the restore's report says the same"

    @pytest.mark.parametrize("other", ["vol-0fedcba9876543210", None])
    def test_a_recording_of_another_volume_counts_for_nothing_and_says_why(self, other):
        reads, record = self.first_reads(World(), coldBlocks=7, volumeId=other)
        assert reads is None
        recording = record.public()["volumes"][0]["recording"]
        assert recording["state"] == "failed"
        assert recording["problem"].startswith("the recording counts for nothing: it worked on ")
        assert recording["problem"].endswith(f", and not on {VOLUME_ID}")

    @pytest.mark.parametrize(
        "case",
        [
            {},
            {"found": False},
            {"coldBlocks": 41},
            {"coldBlocks": 7, "volume_id": "vol-0fffffffffffffff0"},
            {"coldBlocks": 7, "warmed": None},
            {"coldBlocks": 7, "warmed": "vol-0fffffffffffffff0"},
        ],
        ids=[
            "no warm-up",
            "none",
            "damaged",
            "another volume's",
            "without an agent",
            "another volume warmed",
        ],
    )
    def test_nothing_is_said_of_cold_reads_where_nothing_is_known(self, case):
        reads, record = self.first_reads(World(), **case)
        assert reads is None
        assert "coldBlocks" not in record.public()["volumes"][0]["recording"]

    @pytest.mark.parametrize(
        ("told", "state", "sentence"),
        [
            ({"status": "Success"}, "recorded", ""),
            ({"status": "InProgress"}, "running", "The recording of its reads still runs."),
            (None, "running", "The recording of its reads still runs."),
            (
                {"status": "Failed", "stderr": "rewarm: fetched\nwarmer: cannot observe: no tracefs\n"},
                "failed",
                "The recording of its reads failed: cannot observe: no tracefs.",
            ),
            (
                {"status": "TimedOut", "status_details": "DeliveryTimedOut"},
                "failed",
                "The recording of its reads failed: Systems Manager says DeliveryTimedOut.",
            ),
            (
                {"status": "Failed", "status_details": "Undeliverable"},
                "failed",
                "The recording of its reads failed: Systems Manager says Undeliverable.",
            ),
        ],
    )
    def test_what_became_of_a_recording_is_reported_and_stays_in_the_record(self, told, state, sentence):
        world = World()
        if told is not None:
            world.commands.finish("command-2", **told)
        _, record = self.first_reads(world, coldBlocks=7)
        (shown,) = record.public()["volumes"]
        assert (shown["recording"]["state"], shown["recording"]["coldBlocks"]) == (state, 7)
        assert bool(shown["recording"]["problem"]) == (state == "failed")
        result, document = accounts.reported(world, [accounts.planned()], [accounts.ready()])
        assert (result.volumes[0].recording, document["volumes"][0]["recording"]) == (sentence, sentence)

    def test_a_recording_that_could_not_be_sent_is_reported(self):
        world = World()
        VolumeNotes(world.table, RESTORE_ID, 0).note_recording(VOLUME_ID, problem="it is off.")
        result, _ = accounts.reported(world, [accounts.planned()], [accounts.ready()])
        assert result.volumes[0].recording == "The recording of its reads failed: it is off."

    def test_systems_manager_that_does_not_answer_hinders_no_report(self, monkeypatch):
        world = World()

        def refuse(*_):
            raise ServiceUnavailableError("Systems Manager is away")

        monkeypatch.setattr(world.commands, "status", refuse)
        reads, record = self.first_reads(world, coldBlocks=7)
        assert reads.cold_blocks == 7
        assert "state" not in record.public()["volumes"][0]["recording"]

    def test_a_bucket_that_cannot_be_read_hinders_no_report(self, monkeypatch):
        world = World()

        get_text = world.artifacts.get_text

        def refuse(key, **named):
            if key.startswith("recordings/"):
                raise ServiceUnavailableError("S3 is away")
            return get_text(key, **named)

        monkeypatch.setattr(world.artifacts, "get_text", refuse)
        assert self.first_reads(world, coldBlocks=7)[0] is None


class TestFailedRestore:
    def test_one_that_came_to_no_volumes_has_an_account_too(self):
        world = World()
        cause = json.dumps({"errorMessage": "there is no snapshot", "errorType": "SnapshotNotFoundError"})
        failure = Failure(state="Select Snapshot", error="SnapshotNotFoundError", cause=cause)
        result, document = accounts.reported(world, [], [], failure=failure, request=None, trigger=None)
        assert (result.verdict, result.volumes) == ("failed", [])
        assert result.failure == Failure(
            state="Select Snapshot", error="SnapshotNotFoundError", cause="there is no snapshot"
        )
        assert document["request"] is None
        assert "there is no snapshot" in world.artifacts.pages[f"restores/{RESTORE_ID}/report.html"]
        assert world.table.records[RESTORE_ID]["status"] == "failed"

    def test_what_was_known_of_the_volume_is_told(self):
        world = World()
        story = {name: accounts.ready()[name] for name in ("timeline", "before", "plan", "warmUps")}
        world.table.put(
            RESTORE_ID,
            {
                "volume0": {"volumeId": VOLUME_ID},
                "command0": {"dispatch": accounts.ready()["dispatch"]},
                "initialization0": {
                    "bytesDone": 1_000,
                    "progressPercent": 40.0,
                    "reasons": ["it stands still"],
                },
                "story0": {**story, "after": None},
                "cleanUp0": {"removed": ["volume vol-1"], "kept": []},
            },
        )
        result, document = accounts.reported(world, [accounts.planned()], [accounts.failed()])
        (volume,) = result.volumes
        assert (volume.verdict, volume.volume_id, volume.bytes_read) == ("failed", VOLUME_ID, 1_000)
        assert volume.latency_before_ms is not None
        assert volume.latency_after_ms is None
        assert document["removed"] == ["volume vol-1"]
        page = world.artifacts.pages[str(result.page_key)]
        assert "12 blocks unreadable" in page
        assert "Volume attached: usable" in page
        assert "Agent sent for" in page
        assert "205 ms" in page
        assert "Removed: volume vol-1." in page

    def test_it_teaches_nothing(self):
        world = World()
        world.table.update_volume(RESTORE_ID, 0, {"story": {"timeline": accounts.ready()["timeline"]}})
        accounts.reported(world, [accounts.planned()], [accounts.failed()])
        assert world.history.records() == []
