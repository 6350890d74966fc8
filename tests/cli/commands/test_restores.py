"""`rewarm plan`, `restore`, `list`, `cancel` and `report` on an API that answers by the contract."""

from __future__ import annotations

import json

import pytest
import yaml

from rewarm_cli.problems import DONE, FAILED, NOT_FOUND, NOT_READY, REFUSED, STILL_RUNNING, USAGE
from rewarm_cli.views import approval_lines
from tests.support.commands.stack_api import RefusedError

VOLUME, INSTANCE = "vol-0123456789abcdef0", "i-0123456789abcdef0"
REQUEST = ("--volume", VOLUME, "--instance", INSTANCE)
AGENT = {
    "strategy": "warm-up-agent", "chosen": True, "reason": "It is the cheapest in time.",
    "usableSeconds": 20, "readyP50Seconds": 31, "readyP90Seconds": 240, "costUsd": "0.000001",
}  # fmt: skip
RATE = {
    "strategy": "provisioned-rate", "initializationRateMibS": 100, "chosen": False,
    "reason": "Not possible.", "usableSeconds": None, "readyP50Seconds": None,
    "readyP90Seconds": None, "costUsd": None,
}  # fmt: skip
PLACE = {
    "snapshotId": "snap-1", "snapshotStartedAt": "2026-11-22T03:00:00Z", "dataBytes": 2**30,
    "instanceId": INSTANCE, "availabilityZone": "eu-west-1a", "device": "/dev/sdf",
}  # fmt: skip
OFFER = {"deadlineSeconds": 240, "costUsd": "0.75", "choices": [{"volumes": 2, "strategy": "background"}]}
SUMMARY = {"readyP90At": "2026-11-22T10:04:00Z", "totalCostUsd": "0.75", "deadlineMissed": False}
PLAN = {
    "plans": [{"volume": PLACE, "candidates": [AGENT, RATE]}],
    "summary": {**SUMMARY, "notes": ["Prices more than 90 days old."]},
    "frontier": [OFFER],
}


def restored(restore_id="restore-1", status="ready", **more):
    return {
        "restoreId": restore_id,
        "status": status,
        "startedAt": "2026-11-22T10:00:00Z",
        "volumes": [],
        **more,
    }


class TestPlan:
    def test_it_shows_each_strategy_with_times_price_and_reason(self, rewarm, stack):
        stack.answers["POST", "/plans"] = 200, PLAN
        shown = rewarm("plan", *REQUEST, "--what-if")
        assert shown.status == DONE
        assert (
            "snap-1 of 2026-11-22 03:00 UTC (1 GiB of data) to i-0123456789abcdef0 as /dev/sdf" in shown.out
        )
        lines = [line.split() for line in shown.out.splitlines()]
        assert ["*", "warm-up-agent", "20", "s", "31", "s", "4", "min", "under", "$0.0001"] in [
            line[:10] for line in lines
        ]
        assert "provisioned-rate 100 MiB/s" in shown.out
        assert "background (2 volumes)" in shown.out
        assert "At full speed by 2026-11-22 10:04 UTC (P90), in time, for $0.75." in shown.out
        assert "Note: Prices more than 90 days old." in shown.out

    def test_that_an_instance_reboots_is_the_first_line(self, rewarm, stack):
        root = {**PLACE, "replaces": {"volumeId": "vol-1", "sizeGib": 8, "rootDevice": "/dev/xvda"}}
        planned = {**PLAN, "plans": [{"volume": root, "candidates": [AGENT]}]}
        stack.answers["POST", "/plans"] = 200, planned
        first = rewarm("plan", *REQUEST, "--reboot", "--force-root", "snap-1").out.splitlines()[0]
        assert first == f"{INSTANCE} will reboot, with a new root volume in place of vol-1."
        target = stack.calls[0].body["target"]
        assert (target["mode"], target["reboot"], target["forceRoot"]) == ("replace", True, "snap-1")

    def test_the_request_is_signed_for_the_stack_s_region(self, rewarm, stack):
        stack.answers["POST", "/plans"] = 200, PLAN
        rewarm("plan", *REQUEST, "--ready-within", "2h", "--max-cost", "1.5", "--strict")
        (call,) = stack.calls
        assert "/eu-west-1/execute-api/aws4_request" in call.headers["authorization"]
        assert call.body == {
            "source": {"volumeId": VOLUME},
            "target": {"instanceId": INSTANCE},
            "objective": {"readyWithinMinutes": 120, "maxCostUsd": 1.5, "strict": True},
        }

    def test_json_yaml_and_a_part_of_them_for_programs(self, rewarm, stack):
        stack.answers["POST", "/plans"] = 200, PLAN
        assert json.loads(rewarm("plan", *REQUEST, "--output", "json").out) == PLAN
        assert yaml.safe_load(rewarm("plan", *REQUEST, "-o", "yaml").out) == PLAN
        assert rewarm("plan", *REQUEST, "--query", "plans[0].volume.snapshotId").out == "snap-1\n"
        assert rewarm("plan", *REQUEST, "--query", "plans[").status == USAGE

    def test_a_picture_is_asked_for_as_one(self, rewarm, stack, tmp_path):
        stack.before = lambda call: stack.answers.update(
            {("POST", "/plans"): (200, "<svg/>" if call.headers.get("accept") == "image/svg+xml" else PLAN)}
        )
        assert rewarm("plan", *REQUEST, "--picture", str(tmp_path / "plan.svg")).status == DONE
        assert (tmp_path / "plan.svg").read_text(encoding="utf-8") == "<svg/>"
        assert stack.calls[-1].query == {"picture": "plan"}

    def test_a_file_that_cannot_be_written_is_named(self, rewarm, stack, tmp_path):
        stack.before = lambda call: stack.answers.update(
            {("POST", "/plans"): (200, "<svg/>" if call.headers.get("accept") == "image/svg+xml" else PLAN)}
        )
        file = tmp_path / "none" / "plan.svg"
        shown = rewarm("plan", *REQUEST, "--picture", str(file))
        assert (shown.status, shown.err) == (FAILED, f"Error: {file}: No such file or directory\n")

    def test_without_a_request_nothing_is_sent(self, rewarm, stack):
        shown = rewarm("plan")
        assert (shown.status, stack.calls) == (USAGE, [])
        assert "say what to restore" in shown.err


GROUP = {
    "firstIndex": 0, "alike": True, "snapshotId": "snap-1", "target": "eu-west-1a",
    "dataBytes": 100 * 2**30,
    "strategy": "provisioned-rate", "initializationRateMibS": 100, "startSeconds": 0, "usableSeconds": 10,
    "readyP50Seconds": 1_160, "readyP90Seconds": 1_500, "eachCostUsd": "0.12", "togetherCostUsd": "6.00",
    "deadlineMissed": False, "volumes": 50, "bar": "████████████▓▓▓",
}  # fmt: skip
LATER = {
    "volumes": 5, "firstIndex": 50, "startSeconds": 1_500, "readyP50Seconds": 2_100, "readyP90Seconds": 2_381,
    "eachCostUsd": "0.252", "togetherCostUsd": "1.26", "bar": "░░░░░░░░░░░░░░░██████▓▓▓",
}  # fmt: skip
BY_HAND = {"program": "dd", "command": "sudo dd", "readySeconds": 3_247, "costUsd": "0", "effort": "a person"}
FSR = {
    "strategy": "fast-snapshot-restore", "chosen": False, "reason": "Costs $0.63 more.", "costUsd": "0.75",
    "usableSeconds": 700, "readyP50Seconds": 760, "readyP90Seconds": 1_130, "keptOnUsdAMonth": "547.500000",
}  # fmt: skip
OF_TWO = [{"volume": {**PLACE, "index": index}, "candidates": [AGENT, FSR]} for index in (0, 50)]
JOINT = {
    "plans": OF_TWO,
    "frontier": [],
    "ways": [{"name": "by-hand", "effort": "somebody is there", "rightWhen": "nothing may be deployed"}],
    "summary": {
        **SUMMARY, "totalCostUsd": "7.26", "deadlineSeconds": 2_400, "lateSeconds": 0,
        "why": "55 volumes: so.", "schedule": [GROUP, {**GROUP, **LATER}], "byHand": [BY_HAND],
    },
}  # fmt: skip


class TestSchedule:
    """Of several volumes: what all do together, and not one volume's strategies as if all did."""

    @pytest.fixture
    def shown(self, rewarm, stack):
        def planned(*options, **summary):
            stack.answers["POST", "/plans"] = 200, {**JOINT, "summary": {**JOINT["summary"], **summary}}
            return rewarm("plan", *REQUEST, *options).out

        return planned

    def test_a_line_for_each_group_then_the_deadline_all_together_and_by_hand(self, shown):
        heading, columns, *rows = shown().splitlines()
        assert heading == "55 volumes of snap-1 (100 GiB of data each) to eu-west-1a"
        assert columns.split() == [
            "volumes",
            "way",
            "begins",
            "usable",
            "p50",
            "p90",
            "each",
            "together",
            "schedule",
        ]
        assert [row.split("  ") and " ".join(row.split()) for row in rows[:5]] == [
            "50 provisioned-rate 100 MiB/s at once 10 s 20 min 25 min $0.12 $6.00 ████████████▓▓▓",
            "5 provisioned-rate 100 MiB/s 25 min 10 s 35 min 40 min $0.25 $1.26 ░░░░░░░░░░░░░░░██████▓▓▓",
            "deadline 40 min |",
            "55 together 10 s 35 min 40 min $7.26",
            "by hand: dd 55 min $0.00",
        ]
        assert "By hand with dd: a person: sudo dd" in rows
        assert "Schedule: ░ waits for others, " in "".join(rows)
        assert "warm-up-agent" not in "".join(rows)

    def test_what_differs_between_the_lines_has_a_column(self, shown):
        unlike = {**GROUP, "snapshotId": None, "target": "eu-west-1b", "dataBytes": 2**30, "alike": False}
        heading, columns, _, row, *_ = shown(schedule=[GROUP, unlike]).splitlines()
        assert heading == "100 volumes"
        assert columns.split()[:5] == ["volumes", "data", "from", "to", "way"]
        assert " ".join(row.split()).startswith("50 up to 1 GiB (several) eu-west-1b provisioned-rate")

    def test_the_mark_of_the_deadline_stands_below_the_bars_at_its_time(self, shown):
        bar, _, deadline, *_ = shown(deadlineSeconds=1_190).splitlines()[2:]
        assert deadline.index("|") == bar.index("█") + 11

    def test_the_closing_lines_say_how_late_and_what_all_cost_together(self, shown):
        assert "At full speed by 2026-11-22 10:04 UTC (P90), in time, for $7.26 together." in shown()
        late = shown(deadlineMissed=True, lateSeconds=2_460, priceBookStale=True)
        assert "(P90), 41 min after the deadline, for $7.26 together by prices that are more than 90" in late
        assert "\n55 volumes: so.\n" in late
        assert "(P90), for $7.26 together." in shown(deadlineSeconds=None)

    def test_explain_shows_the_strategies_of_each_group_and_when_each_way_is_right(self, shown):
        explained = shown("--explain")
        assert explained.count("if all took the same way:") == 2
        assert "Costs $0.63 more. Kept on: $547.50 a month for this snapshot in this zone." in explained
        assert ["by-hand", "somebody", "is", "there", "nothing", "may", "be", "deployed"] in [
            line.split() for line in explained.splitlines()
        ]

    def test_by_hand_is_a_row_of_the_strategies_of_one_volume(self, rewarm, stack):
        answer = {**PLAN, "summary": {**SUMMARY, "byHand": [BY_HAND]}}
        stack.answers["POST", "/plans"] = 200, answer
        rows = [line.split() for line in rewarm("plan", *REQUEST).out.splitlines()]
        assert ["by", "hand:", "dd", "-", "55", "min", "-", "$0.00", "A", "person:", "sudo", "dd"] in rows

    def test_who_approves_reads_a_line_for_each_group(self):
        summary = JOINT["summary"]
        approval = {"usd": "7.26", "reason": "It costs more.", "until": "2026-11-22T10:04:00Z"}
        lines = list(approval_lines({"plans": [{}] * 55, "summary": summary, "approval": approval}))
        assert lines[:2] == [
            "50 x snap-1: provisioned-rate 100 MiB/s, at full speed in 25 min (P90), $6.00.",
            "5 x snap-1: provisioned-rate 100 MiB/s, at full speed in 40 min (P90), $1.26.",
        ]
        assert lines[2] == "$7.26 in all. It costs more."

    @pytest.mark.parametrize(
        ("options", "name"),
        [((), "schedule"), (("--what-if",), "what-if"), (("--what-if", "--picture-of", "plan"), "plan")],
    )
    def test_the_picture_of_several_volumes_is_their_schedule(self, rewarm, stack, tmp_path, options, name):
        stack.before = lambda call: stack.answers.update(
            {("POST", "/plans"): (200, "<svg/>" if call.headers.get("accept") == "image/svg+xml" else JOINT)}
        )
        assert rewarm("plan", *REQUEST, "--picture", str(tmp_path / "x.svg"), *options).status == DONE
        assert stack.calls[-1].query == {"picture": name}


class TestRefusals:
    def test_each_wrong_field_with_what_was_found_and_what_is_allowed(self, rewarm, stack):
        def refuse(_call):
            errors = (
                {
                    "field": "source.volumeId",
                    "found": "vol-x",
                    "allowed": "an id such as vol-0123",
                    "message": "?",
                },
                {"field": "objective.maxCostUsd", "found": -1, "allowed": "0 or more", "message": "?"},
                {"field": "target", "found": None, "allowed": None, "message": "it is missing"},
            )
            raise RefusedError(400, "InvalidRequestError", "3 fields are wrong", *errors)

        stack.before = refuse
        shown = rewarm("restore", "--yes", *REQUEST)
        assert shown.status == REFUSED
        assert shown.out == ""
        assert shown.err.splitlines() == [
            "Error: the request is wrong (InvalidRequestError)",
            "  source.volumeId: found vol-x; allowed is an id such as vol-0123",
            "  objective.maxCostUsd: found -1; allowed is 0 or more",
            "  target: it is missing",
        ]

    def test_for_programs_they_are_the_api_s_problem_details(self, rewarm):
        shown = rewarm("status", "restore-9", "-o", "json")
        assert shown.status == NOT_FOUND
        assert json.loads(shown.err)["error"] == "RestoreNotFoundError"

    def test_who_holds_the_device_is_named_with_what_to_type(self, rewarm, stack):
        def refuse(_call):
            raise RefusedError(409, "TargetBusyError", "the device is taken", heldBy="restore-7")

        stack.before = refuse
        shown = rewarm("restore", "--yes", *REQUEST)
        assert shown.status == REFUSED
        assert "rewarm cancel restore-7" in shown.err

    def test_without_permission_it_says_which(self, rewarm, stack):
        def refuse(_call):
            raise RefusedError(403, "ACCESS_DENIED", "not authorized")

        stack.before = refuse
        assert "execute-api:Invoke" in rewarm("list").err

    def test_an_api_that_is_not_there_is_a_failure(self, rewarm):
        shown = rewarm("list", "--api-url", "http://127.0.0.1:9/v1")
        assert shown.status == FAILED
        assert "the API cannot be reached" in shown.err

    def test_what_passes_by_itself_is_asked_again(self, rewarm, stack):
        left = [503, 429]

        def refuse(_call):
            if left:
                raise RefusedError(left.pop(), "ThrottledError", "later")

        stack.before = refuse
        assert rewarm("restore", "--yes", *REQUEST).status == DONE
        assert len({call.headers["idempotency-key"] for call in stack.calls}) == 1
        assert len(stack.calls) == 3

    def test_too_many_restores_do_not_pass_by_themselves(self, rewarm, stack):
        def refuse(_call):
            raise RefusedError(429, "TooManyRestoresError", "10 run", running=["restore-1"])

        stack.before = refuse
        shown = rewarm("restore", "--yes", *REQUEST)
        assert (shown.status, len(stack.calls)) == (REFUSED, 1)
        assert "Try again in 2 min." in shown.err


class TestRestore:
    def test_it_starts_and_says_how_to_watch_and_cancel(self, rewarm, stack):
        shown = rewarm("restore", "--yes", *REQUEST)
        assert shown.status == DONE
        assert "rewarm status restore-1 --watch" in shown.out
        assert "rewarm cancel restore-1" in shown.out
        assert list(stack.restores) == ["restore-1"]

    def test_what_to_type_next_reaches_the_same_stack(self, rewarm, stack, monkeypatch):
        where = ("--region", "eu-north-1", "--stack", "my stack")
        assert (
            "rewarm cancel restore-1 --region eu-north-1 --stack 'my stack'"
            in rewarm("restore", "--yes", *REQUEST, *where).out
        )
        assert (
            f"rewarm status restore-1 --watch --api-url {rewarm.url}"
            in rewarm("--api-url", rewarm.url, "status", "restore-1").out
        )

        def refuse(_call):
            raise RefusedError(409, "TargetBusyError", "the device is taken", heldBy="restore-7")

        stack.before = refuse
        assert (
            "`rewarm cancel restore-7 --stack other`"
            in rewarm("restore", "--yes", *REQUEST, "--stack", "other").err
        )
        monkeypatch.setenv("REWARM_LOCAL", "1")
        monkeypatch.setenv("REWARM_TYPED_AS", "./rewarm")
        assert "`./rewarm cancel restore-7 --local`" in rewarm("restore", "--yes", *REQUEST).err

    def test_the_id_alone_for_a_script(self, rewarm):
        assert rewarm("restore", "--yes", *REQUEST, "--query", "restoreId").out == "restore-1\n"

    def test_a_file_with_options_above_it(self, rewarm, stack, tmp_path):
        file = tmp_path / "request.yaml"
        file.write_text(
            "source: {snapshotId: snap-1}\n"
            "target: {instanceId: i-1}\nobjective:\n  readyWithinMinutes: 60\n  strategy: auto\n",
            encoding="utf-8",
        )
        words = ("--volume", VOLUME, "--at", "2026-11-22T10:00:00Z", "--ready-within", "90m", "--replace")
        rewarm("restore", "--yes", "-f", str(file), *words, "--set", "warmUp.maxMibPerSecond=50", "--dry-run")
        assert stack.calls[0].body == {
            "source": {"volumeId": VOLUME, "at": "2026-11-22T10:00:00Z"},
            "target": {"instanceId": "i-1", "mode": "replace"},
            "objective": {"readyWithinMinutes": 90, "strategy": "auto"},
            "warmUp": {"maxMibPerSecond": 50},
            "dryRun": True,
        }

    def test_start_replaces_on_a_stopped_instance(self, rewarm, stack):
        rewarm("restore", "--source-instance", "i-1", "--instance", "i-2", "--start", "--yes")
        assert stack.calls[-1].body == {
            "source": {"instanceId": "i-1"},
            "target": {"instanceId": "i-2", "mode": "replace", "start": True},
        }

    def test_a_volume_goes_back_by_one_option(self, rewarm, stack):
        rewarm("restore", "--snapshot", "snap-1", "--instance", "i-1", "--rewind", "--unmount", "--yes")
        assert stack.calls[-1].body == {
            "source": {"snapshotId": "snap-1"},
            "target": {"instanceId": "i-1", "mode": "rewind", "unmount": True},
        }
        refused = rewarm("restore", "--snapshot", "snap-1", "--instance", "i-1", "--rewind", "--replace")
        assert (refused.status, "make no volume" in refused.err) == (2, True)

    def test_an_option_says_how_a_volume_goes_back(self, rewarm, stack):
        words = ("--snapshot", "snap-1", "--instance", "i-1", "--rewind", "--rewind-volume", "vol-2", "--yes")
        rewarm("restore", *words, "--evidence", "undo-log", "--compare", "device")
        assert stack.calls[-1].body["target"] == {
            "instanceId": "i-1", "mode": "rewind", "volumeId": "vol-2", "evidence": "undo-log",
            "compare": "device",
        }  # fmt: skip

    def test_options_say_what_brings_the_application_back(self, rewarm, stack):
        words = ("--mount", "/srv/a", "--mount", "/dev/sdg=/srv/b", "--document", "start-orders")
        url = "http://127.0.0.1:8080/health"
        rewarm("restore", *REQUEST, *words, "--health-url", url, "--after", "attached", "--yes")
        assert stack.calls[-1].body["after"] == {
            "when": "attached",
            "mounts": [{"path": "/srv/a"}, {"device": "/dev/sdg", "path": "/srv/b"}],
            "document": {"name": "start-orders"},
            "healthCheck": {"url": url},
        }

    def test_a_rewind_is_undone_by_the_name_of_its_restore(self, rewarm, stack):
        rewarm("restore", "--undo", "restore-1", "--instance", "i-1", "--yes")
        assert stack.calls[-1].body == {
            "source": {"undoOf": "restore-1"},
            "target": {"instanceId": "i-1", "mode": "rewind"},
        }

    def test_a_time_in_a_file_of_yaml_stays_text(self, rewarm, stack, tmp_path):
        file = tmp_path / "request.yaml"
        file.write_text("source: {volumeId: vol-1, at: 2026-11-22T10:00:00Z}\n", encoding="utf-8")
        rewarm("restore", "--yes", "-f", str(file), "--tag", "a=b", "--zone", "eu-west-1a")
        rewarm("restore", "--yes", "-f", str(file))
        assert stack.calls[0].body["source"] == {"tags": {"a": "b"}}
        assert stack.calls[1].body["source"]["at"] == "2026-11-22T10:00:00Z"

    @pytest.mark.parametrize(
        "words",
        [
            ("-f", "/nowhere.yaml"),
            ("--ready-within", "soon"),
            ("--set", "x"),
            ("--strategy", "fast"),
            ("--what",),
        ],
    )
    def test_a_wrong_option_sends_nothing(self, rewarm, stack, words):
        assert rewarm("restore", "--yes", *REQUEST, *words).status == USAGE
        assert stack.calls == []


class TestList:
    @pytest.fixture(autouse=True)
    def many(self, stack):
        for number in range(1, 251):
            stack.put(
                restored(f"restore-{number}", "failed" if number % 2 else "ready", trigger={"kind": "api"})
            )

    def test_the_newest_first_page_after_page(self, rewarm, stack):
        found = json.loads(rewarm("list", "--limit", "230", "--output", "json").out)["restores"]
        assert [found[0]["restoreId"], found[-1]["restoreId"], len(found)] == [
            "restore-250",
            "restore-21",
            230,
        ]
        assert [call.query["limit"] for call in stack.calls] == ["100", "100", "30"]

    def test_a_line_each_for_people(self, rewarm):
        lines = rewarm("list", "--limit", "2").out.splitlines()
        assert lines[0].split()[:3] == ["id", "status", "started"]
        assert [line.split()[:2] for line in lines[1:]] == [
            ["restore-250", "ready"],
            ["restore-249", "failed"],
        ]

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("arn:aws:iam::123456789012:user/alice", "user/alice"),
            ("arn:aws:sts::123456789012:assumed-role/Ops/bob", "assumed-role/Ops/bob"),
            ("token of https://id.example: bob", "token of https://id.example: bob"),
        ],
    )
    def test_who_asked_has_a_column(self, rewarm, stack, monkeypatch, name, shown):
        monkeypatch.setenv("COLUMNS", "200")
        by = {"kind": "iam", "name": name}
        stack.put(restored("restore-251", trigger={"kind": "api", "askedBy": by}, cancelledBy=by))
        assert shown in rewarm("list", "--limit", "1").out
        said = rewarm("status", "restore-251").out
        assert f"by {name}" in said

    def test_what_to_list_is_asked_of_the_api(self, rewarm, stack):
        words = ("--status", "failed", "--instance", INSTANCE, "--alarm", "rewarm-a b", "--since",
                 "2026-11-22T10:00:00+01:00")  # fmt: skip
        rewarm("list", *words)
        assert stack.calls[0].query == {
            "status": "failed", "instanceId": INSTANCE, "alarmName": "rewarm-a b",
            "since": "2026-11-22T09:00:00Z", "limit": "30",
        }  # fmt: skip
        assert rewarm("list", "--since", "yesterday").status == USAGE


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("list",), "There is no restore yet: rewarm restore --help"),
        (("list", "--status", "failed"), "There is no such restore."),
        (("fleet", "list"), "There is no fleet yet: rewarm fleet start -f FILE"),
        (("fleet", "list", "--status", "ready"), "There is no such fleet."),
        (("runbook", "list"), "There is no runbook yet, so no alarm restores anything"),
        (("drill", "list", "rewarm-a"), "rewarm-a was not drilled yet: rewarm drill start rewarm-a"),
    ],
)
def test_an_empty_list_says_that_it_is_empty(rewarm, stack, words, said):
    stack.answers["GET", "/runbooks/rewarm-a"] = 200, {"drills": []}
    assert rewarm(*words).out.startswith(said)


class TestEnds:
    def test_a_restore_that_is_not_ready_has_a_status_of_its_own(self, rewarm, stack):
        stack.put(restored(status="failed", failure={"error": "VolumeNotFastError", "cause": "p99 is 91 ms"}))
        assert rewarm("status", "restore-1").status == DONE
        shown = rewarm("status", "restore-1", "--wait")
        assert shown.status == NOT_READY
        assert "VolumeNotFastError p99 is 91 ms" in shown.out

    def test_what_is_left_has_its_price_and_the_command_that_ends_it(self, rewarm, stack):
        old = {"thing": "vol-0 (8 GiB), the volume that was replaced", "usdPerMonth": "0.64",
               "remove": "aws ec2 delete-volume --volume-id vol-0"}  # fmt: skip
        stack.put(restored(left=[old, {"thing": "the undo log", "usdPerMonth": None, "remove": "rewarm x"}]))
        said = rewarm("status", "restore-1").out
        assert (
            "Still costs money: vol-0 (8 GiB), the volume that was replaced, $0.64 a month. "
            "To end it: aws ec2 delete-volume --volume-id vol-0\n"
        ) in said
        assert "Still costs money: the undo log. To end it: rewarm x\n" in said
        stack.put(restored(left=[]))
        assert "It has left nothing that costs money" in rewarm("status", "restore-1").out

    def test_a_restore_that_was_cancelled_makes_no_progress_any_more(self, rewarm, stack):
        polled = {"bytesTotal": 100, "bytesDone": 0, "mibPerSecond": 1.0, "etaSeconds": 11}
        volume = {"index": 0, "volume": {"volumeId": "vol-1"}, "agent": polled, "initialization": polled}
        stack.put(restored(status="cancelled", volumes=[volume], left=[]))
        assert "ETA" not in rewarm("status", "restore-1").out

    def test_an_alarm_that_was_ignored_says_why(self, rewarm, stack):
        stack.put(restored(status="suppressed", reason="the mute rule maintenance mutes it"))
        assert "the mute rule maintenance mutes it" in rewarm("status", "restore-1").out

    def test_a_restore_that_has_only_begun_may_have_no_status(self, rewarm, stack):
        stack.put({"restoreId": "restore-1", "volumes": []})
        assert "restore-1 is starting" in rewarm("status", "restore-1").out

    def test_waiting_no_longer_than_asked_leaves_the_restore_alone(self, rewarm, stack):
        stack.put(restored(status="initializing"))
        shown = rewarm("status", "restore-1", "--wait", "--timeout", "0m")
        assert shown.status == STILL_RUNNING
        assert {call.method for call in stack.calls} == {"GET"}

    def test_cancel_and_its_end(self, rewarm, stack):
        stack.put(restored(status="restoring"))
        assert rewarm("cancel", "restore-1", "--yes", "--wait").status == DONE
        assert stack.restores["restore-1"]["status"] == "cancelled"
        shown = rewarm("cancel", "restore-1", "--yes")
        assert shown.status == REFUSED
        assert "it is cancelled" in shown.err

    def test_the_report_s_link_and_page(self, rewarm, stack, tmp_path):
        stack.put(restored(status="initializing"))
        assert rewarm("report", "restore-1").status == NOT_FOUND
        stack.answers["GET", "/page"] = 200, "<html>"
        rewarm("list")
        url = f"http://{stack.calls[-1].headers['host']}/v1/page"
        stack.put(restored(reportUrl=url))
        assert rewarm("report", "restore-1", "--url").out == f"{url}\n"
        assert rewarm("report", "restore-1", "--save", str(tmp_path / "page.html")).status == DONE
        assert (tmp_path / "page.html").read_text(encoding="utf-8") == "<html>"

    def test_the_link_is_printed_where_there_is_no_browser(self, rewarm, stack, monkeypatch):
        stack.put(restored(reportUrl="https://bucket/page"))
        monkeypatch.setattr("webbrowser.open", lambda _url: False)
        assert rewarm("report", "restore-1").out == "https://bucket/page\n"
        monkeypatch.setattr("webbrowser.open", lambda _url: True)
        assert rewarm("report", "restore-1").out == ""


class TestApprove:
    WAITS = {
        "status": "awaiting-approval",
        "approval": {
            "askedAt": "2026-11-22T10:00:00Z",
            "until": "2026-11-22T11:00:00Z",
            "usd": "3.20",
            "reason": "The plan costs $3.20; above $1.00 it needs approval (objective.approveAboveUsd).",
        },
        "plans": [
            {
                "index": 0,
                "snapshotId": "snap-1",
                "plan": {
                    "strategy": "provisioned-rate",
                    "initializationRateMibS": 300,
                    "readyP90Seconds": 600,
                    "costUsd": "3.20",
                    "why": "It is the cheapest that meets the deadline.",
                },
            }
        ],
    }  # fmt: skip

    def test_it_shows_plan_and_price_and_approves_just_that(self, rewarm, stack):
        stack.put(restored(**self.WAITS))
        shown = rewarm("approve", "restore-1", "--yes")
        assert shown.status == DONE
        assert "snap-1: provisioned-rate 300 MiB/s, at full speed in 10 min (P90), $3.20." in shown.out
        assert "$3.20 in all. The plan costs $3.20; above $1.00 it needs approval" in shown.out
        assert "restore-1 is approved, by alice" in shown.out
        assert stack.calls[-1].query == {"askedAt": "2026-11-22T10:00:00Z"}

    def test_a_restore_that_does_not_wait_is_refused(self, rewarm, stack):
        stack.put(restored(status="initializing"))
        shown = rewarm("approve", "restore-1", "--yes")
        assert shown.status == REFUSED
        assert "NotAwaitingApprovalError" in shown.err
        assert rewarm("approve", "restore-2", "--yes").status == NOT_FOUND

    def test_the_status_says_how_to_approve(self, rewarm, stack):
        stack.put(restored(**self.WAITS))
        shown = rewarm("status", "restore-1").out
        assert "restore-1 is awaiting-approval" in shown
        assert "needed for $3.20 until 2026-11-22 11:00 UTC: The plan costs $3.20" in shown
        assert "Approve it: rewarm approve restore-1" in shown
        rewarm("approve", "restore-1", "--yes")
        assert "$3.20, by alice, 2026-11-22 10:02 UTC" in rewarm("status", "restore-1").out

    def test_who_watches_is_told_how_to_approve(self, rewarm, stack):
        stack.put(restored(**self.WAITS))
        shown = rewarm("status", "restore-1", "--watch", "--timeout", "0m")
        assert shown.status == STILL_RUNNING
        assert shown.out.splitlines().count("Approve it: rewarm approve restore-1") == 1

    def test_a_restore_that_has_ended_shows_no_plan_to_approve(self, rewarm, stack):
        stack.put(restored(**{**self.WAITS, "status": "failed"}))

        def refuse(call):
            if call.method == "POST":
                raise RefusedError(409, "RestoreEndedError", "it is failed")

        stack.before = refuse
        shown = rewarm("approve", "restore-1", "--yes")
        assert (shown.status, shown.out) == (REFUSED, "")
        assert shown.err == "Error: it is failed (RestoreEndedError)\n"

    def test_what_it_says_to_type_names_the_same_stack(self, rewarm, stack):
        stack.put(restored(**self.WAITS))
        where = ("--api-url", rewarm.url)
        approve = f"rewarm approve restore-1 --api-url {rewarm.url}\n"
        assert approve in rewarm("status", "restore-1", *where).out
        assert approve in rewarm("status", "restore-1", "--watch", "--timeout", "0m", *where).out
        watch = f"rewarm status restore-1 --watch --api-url {rewarm.url}\n"
        assert watch in rewarm("approve", "restore-1", "--yes", *where).out

    def test_the_request_can_ask_for_it(self, rewarm, stack):
        rewarm(
            "restore",
            "--volume",
            "vol-1",
            "--instance",
            "i-1",
            "--approve-above",
            "1",
            "--approve-replace",
            "--yes",
        )
        asked = stack.calls[-1].body["objective"]
        assert asked == {"approveAboveUsd": 1.0, "approveReplace": True}

    def test_a_limit_of_nothing_is_a_limit(self, rewarm, stack):
        rewarm("restore", "--yes", *REQUEST, "--approve-above", "0", "--max-cost", "0")
        assert stack.calls[-1].body["objective"] == {"approveAboveUsd": 0.0, "maxCostUsd": 0.0}
