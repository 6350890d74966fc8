"""`rewarm wait`: what proves a volume, how it ends, what it says, and how it finds volumes."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from rewarm_cli import watching
from rewarm_cli.problems import DONE, FAILED, NOT_PROVEN, REFUSED, STILL_RUNNING, STOPPED, USAGE
from rewarm_cli.waiting import named, watch
from rewarm_cli.waiting.named import behind
from tests.cli.test_watching import Terminal
from tests.support.commands.shown import VOLUME
from tests.support.commands.stack_api import RefusedError, Served
from tests.support.commands.sysfs import SECOND
from tests.support.loopback import answering

COUNTED = {"bytesTotal": 1024 * 2**20, "mibPerSecond": 125.0, "etaSeconds": 3}


def record(status, name="restore-1", *, of=(VOLUME,), proven=(), done=None, **more):
    """An adoption of these volumes."""
    agent = {} if done is None else {"agent": {"bytesDone": done * 2**20, **COUNTED}}
    plans = [{"index": index, "adopts": volume_id} for index, volume_id in enumerate(of)]
    volumes = [
        {"index": index, **agent, **({"proven": True} if volume_id in proven else {})}
        for index, volume_id in enumerate(of)
    ]
    return {"restoreId": name, "status": status, "plans": plans, "volumes": volumes, **more}


def waited(rewarm, *words):
    """Its exit status, and what programs read."""
    ended = rewarm("wait", *(words or (VOLUME,)), "-o", "json")
    return ended.status, {one["volumeId"]: one for one in json.loads(ended.out)["volumes"]}


class TestProof:
    def test_a_volume_is_proven_before_the_others_of_its_restore_are(self, rewarm, stack):
        stack.put(record("initializing", of=(VOLUME, SECOND), proven=(VOLUME,), done=10))
        ended = rewarm("wait", VOLUME)
        assert (ended.status, ended.err) == (DONE, "")
        assert ended.out == f"{VOLUME} is at full speed: restore-1 has proven it.\n"

    @pytest.mark.parametrize("name", ["volume", "attached", "rewind"])
    def test_a_volume_that_a_restore_has_made_or_rewound_is_proven_by_its_end(self, rewarm, stack, name):
        made = {"index": 0, name: {"volumeId": VOLUME}}
        stack.put({"restoreId": "restore-1", "status": "ready", "plans": [], "volumes": [made]})
        assert waited(rewarm)[0] == DONE

    def test_a_restore_that_is_ready_with_another_volume_proves_nothing(self, rewarm, stack):
        stack.put(record("ready", of=(SECOND,), reason=f"{VOLUME} was replaced"))
        status, volumes = waited(rewarm)
        assert (status, volumes[VOLUME]["state"]) == (NOT_PROVEN, "failed")

    @pytest.mark.parametrize("status", ["failed", "cancelled"])
    def test_what_failed_or_was_cancelled_says_why_and_how_to_try_again(self, rewarm, stack, status):
        stack.put(record(status, failure={"cause": "i-1 is not online in Systems Manager"}))
        ended = rewarm("wait", VOLUME)
        assert ended.status == NOT_PROVEN == 3
        assert f"{VOLUME} is not proven: restore-1 is {status}: i-1 is not online in" in ended.out
        assert f"rewarm warm {VOLUME}" in ended.out

    def test_an_earlier_proof_counts_whatever_came_later(self, rewarm, stack):
        stack.put(record("ready", "restore-1", proven=(VOLUME,)))
        stack.put(record("failed", "restore-2"))
        assert waited(rewarm)[1][VOLUME]["restoreId"] == "restore-1"

    def test_a_later_attempt_is_waited_for_although_an_earlier_one_failed(self, rewarm, stack):
        stack.put(record("initializing", "restore-1", done=10))
        stack.put(record("failed", "restore-2"))
        stack.put(record("refused", "restore-3"))
        status, volumes = waited(rewarm, VOLUME, "--timeout", "0m")
        assert (status, volumes[VOLUME]["restoreId"]) == (STILL_RUNNING, "restore-1")

    def test_who_begins_again_at_the_end_of_an_attempt_is_waited_for(self, rewarm, stack):
        stack.put(record("initializing", "restore-1"))

        def proceed(call):
            if call.path == "/restores/restore-1" and "wait" in call.query:
                stack.before = lambda _call: None
                stack.put(record("ready", "restore-2", proven=(VOLUME,)))
                stack.put(record("failed", "restore-1"))

        stack.before = proceed
        assert waited(rewarm)[1][VOLUME]["restoreId"] == "restore-2"

    @pytest.mark.parametrize(
        ("status", "more"),
        [("planned", {"request": {"dryRun": True}}), ("duplicate", {}), ("suppressed", {})],
    )
    def test_what_was_never_to_warm_it_is_passed_over(self, rewarm, stack, status, more):
        stack.put(record(status, **more))
        ended, volumes = waited(rewarm, VOLUME, "--timeout", "0m")
        assert (ended, volumes[VOLUME]["state"]) == (STILL_RUNNING, "unknown")

    def test_one_that_was_refused_and_no_other_has_failed(self, rewarm, stack):
        stack.put(record("refused", failure={"cause": "restore-9 works on it"}))
        assert waited(rewarm)[1][VOLUME]["cause"] == "restore-9 works on it"

    def test_it_waits_for_a_restore_that_somebody_may_start_yet(self, rewarm, stack):
        def proceed(call):
            if len(stack.calls) == 3:
                stack.put(record("initializing"))
            elif "wait" in call.query:
                stack.put(record("ready", proven=(VOLUME,)))

        stack.before = proceed
        assert waited(rewarm)[0] == DONE
        assert [call.path for call in stack.calls] == ["/restores"] * 3 + ["/restores/restore-1"] * 2

    def test_of_several_volumes_all_must_be_proven(self, rewarm, stack):
        stack.put(record("ready", "restore-1", proven=(VOLUME,)))
        stack.put(record("initializing", "restore-2", of=(SECOND,), done=512))
        status, volumes = waited(rewarm, VOLUME, SECOND, "--timeout", "0m")
        assert status == STILL_RUNNING
        assert [volumes[name]["state"] for name in (VOLUME, SECOND)] == ["proven", "warming"]
        assert volumes[SECOND]["progressPercent"] == 50.0
        stack.put(record("failed", "restore-2", of=(SECOND,)))
        status, volumes = waited(rewarm, VOLUME, SECOND)
        assert (status, volumes[SECOND]["state"]) == (NOT_PROVEN, "failed")


class TestLooking:
    def test_it_only_reads_two_routes(self, rewarm, stack):
        stack.put(record("ready", proven=(VOLUME,)))
        rewarm("wait", VOLUME)
        assert [(call.method, call.path) for call in stack.calls] == [
            ("GET", "/restores"),
            ("GET", "/restores/restore-1"),
        ]
        assert stack.calls[0].query == {"volumeId": VOLUME}

    def test_of_one_restore_it_waits_for_news(self, rewarm, stack):
        stack.put(record("initializing"))

        def proceed(call):
            if "wait" in call.query:
                stack.put(record("ready", proven=(VOLUME,)))

        stack.before = proceed
        assert rewarm("wait", VOLUME).status == DONE
        assert stack.calls[-1].query == {"wait": "20", "version": "1"}

    def test_looks_at_what_does_not_change_grow_apart(self, rewarm, stack, monkeypatch):
        slept = []
        monkeypatch.setattr(watch, "FIRST_PAUSE_SECONDS", 2.0)
        monkeypatch.setattr(watch.time, "sleep", slept.append)

        def proceed(_call):
            if len(stack.calls) == 9:
                stack.put(record("ready", proven=(VOLUME,)))

        stack.before = proceed
        assert rewarm("wait", VOLUME).status == DONE
        assert slept[:3] == [3.0, 4.5, 6.75]
        assert max(slept) == 30.0

    @pytest.mark.parametrize("status", [429, 503])
    def test_an_api_that_does_not_answer_is_named_at_once_and_asked_until_it_does(
        self, rewarm, stack, monkeypatch, status
    ):
        monkeypatch.setattr(watching, "OUTAGE_SECONDS", 0.0)
        stack.put(record("ready", proven=(VOLUME,)))

        def refuse(_call):
            if len(stack.calls) <= 5:
                raise RefusedError(status, "TooMuchError", "later")

        stack.before = refuse
        ended = rewarm("wait", VOLUME)
        assert ended.status == DONE
        assert ended.err.count(f"The API does not answer (it answers {status})") == 1
        assert ended.err.count("The API answers again.") == 1
        assert "no restore or warm-up" not in ended.out

    def test_credentials_that_may_not_read_end_it_with_the_reason(self, rewarm, stack):
        stack.answers["GET", "/restores"] = 403, {"error": "ACCESS_DENIED", "message": "denied"}
        ended = rewarm("wait", VOLUME)
        assert ended.status == REFUSED
        assert "execute-api:Invoke" in ended.err

    def test_credentials_are_renewed_while_it_waits(self, rewarm, stack, monkeypatch):
        """As EKS Pod Identity gives them: for some hours, while a warm-up may take days."""
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

        def proceed(_call):
            if len(stack.calls) == 4:
                stack.put(record("ready", proven=(VOLUME,)))

        stack.before = proceed
        with answering(short_lived()) as address:
            monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)
            ended = rewarm("wait", VOLUME)
        assert ended.status == DONE, ended.err
        keys = [call.headers["authorization"].partition("Credential=")[2][:8] for call in stack.calls]
        assert len(set(keys)) == len(keys)
        assert stack.calls[-1].headers["x-amz-security-token"].startswith("token")


def short_lived():
    """Credentials that are about to expire, each time others."""
    given = []

    def answer(_method, _path, _headers):
        given.append(None)
        until = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
        number = f"{len(given):04}"
        return json.dumps(
            {"AccessKeyId": f"ASIA{number}", "SecretAccessKey": "s", "Token": f"token{number}",
             "Expiration": until}
        )  # fmt: skip

    return answer


class TestSaying:
    def test_a_log_gets_a_line_where_something_has_changed_and_at_most_one_a_minute(
        self, rewarm, stack, monkeypatch
    ):
        reading = [record("initializing", done=done) for done in (1, 512, 512)]
        course = [None, None, record("planning"), *reading, record("ready", proven=(VOLUME,))]

        def proceed(call):
            is_look = call.path == "/restores" or "wait" in call.query
            if is_look and (following := steps.pop(0)) is not None:
                stack.put(following)

        def said():
            steps[:] = course
            stack.restores.clear()
            return rewarm("wait", VOLUME).out.splitlines()

        steps, stack.before = [], proceed
        nothing = f"0 of 1 volume at full speed; {VOLUME}: no restore or warm-up of it is known yet; "
        first, end = said()
        assert first.startswith(nothing)
        assert end == f"{VOLUME} is at full speed: restore-1 has proven it."
        monkeypatch.setattr(watch, "LINE_SECONDS", 0.0)
        first, planning, begun, half, end = said()
        assert planning.endswith(f"{VOLUME}: restore-1 is planning")
        assert begun.endswith(", 0 %  1 MiB of 1 GiB  125.0 MiB/s  ETA 3 s")
        assert half.endswith(", 50 %  512 MiB of 1 GiB  125.0 MiB/s  ETA 3 s")

    def test_a_line_names_few_volumes_and_counts_the_others(self, rewarm, stack):
        names = [f"vol-{number:017x}" for number in range(6)]
        stack.put(record("initializing", of=names, proven=names[:1]))
        (line, *_), ended = rewarm("wait", *names, "--timeout", "0m").out.splitlines(), None
        assert line.startswith("1 of 6 volumes at full speed; ")
        assert (line.count("vol-"), line.endswith("; 2 more"), ended) == (3, True, None)

    def test_what_is_not_proven_in_time_is_named(self, rewarm, stack):
        ended = rewarm("wait", VOLUME, "--timeout", "0m")
        assert ended.status == STILL_RUNNING
        assert "Not all volumes are proven after 0 minutes." in ended.err

    def test_a_terminal_shows_a_bar_and_ctrl_c_ends_only_the_looking(self, stack):
        stack.put(record("initializing", done=512))
        served_api = Served(stack)
        terminal = Terminal(served_api.url, "wait", VOLUME)
        try:
            terminal.waits_for(f"{VOLUME}.*restore-1 is initializing, 50 %  512 MiB of 1 GiB")
            stack.put(record("initializing", done=740))
            terminal.waits_for("72 %  740 MiB of 1 GiB")
            terminal.type(b"\x03")
            assert terminal.end() == STOPPED
        finally:
            terminal.process.kill()
            served_api.close()
        assert "Stopped looking. Whatever warms the volumes continues." in terminal.seen
        assert {call.method for call in stack.calls} == {"GET"}


class TestNaming:
    @pytest.mark.parametrize("words", [[], ["vol-x"], ["--timeout", "soon", VOLUME]])
    def test_volumes_are_named_by_id_device_or_instance(self, rewarm, stack, words):
        assert rewarm("wait", *words).status == USAGE
        assert stack.calls == []

    @pytest.mark.parametrize(
        ("device", "volumes"),
        [
            ("/dev/nvme1n1", [VOLUME]),
            ("/dev/nvme1n1p1", [VOLUME]),
            ("/dev/dm-0", [VOLUME, SECOND]),
            ("/dev/dm-1", [VOLUME, SECOND]),
        ],
    )
    def test_a_device_leads_to_the_volumes_behind_it(self, rewarm, stack, device, volumes):
        """The devices have no nodes here, as in a container."""
        assert behind(device) == volumes
        stack.put(record("ready", of=volumes, proven=volumes))
        assert list(waited(rewarm, "--device", device)[1]) == volumes

    def test_a_folder_leads_to_the_volume_that_is_mounted_there(self, rewarm, tmp_path):
        number = tmp_path.stat().st_dev
        sys = tmp_path / "sys"
        place = sys / "dev" / "block" / f"{number >> 8 & 0xFFF}:{number & 0xFF | number >> 12 & 0xFFF00}"
        place.symlink_to(sys / "devices" / "nvme1n1" / "nvme1n1p1")
        assert behind(str(tmp_path)) == [VOLUME]

    @pytest.mark.parametrize(
        ("device", "why"),
        [
            ("/dev/nvme9n1", "there is no such device or folder; lsblk"),
            ("/data/nowhere", "there is no such device or folder; lsblk"),
            ("/proc", "is on no disk of its own"),
            (__file__, "is neither a block device nor a folder"),
            ("/dev/nvme3n1", "nvme3n1 is an instance store, which is at full speed from the start"),
            ("/dev/sda", "sda is no EBS volume on NVMe, because its serial number is 'QM00001'"),
            ("/dev/xvdf", "xvdf is no EBS volume on NVMe, because it has no serial number"),
        ],
    )
    def test_what_is_no_ebs_volume_is_refused_with_the_reason(self, rewarm, stack, device, why):
        ended = rewarm("wait", "--device", device)
        assert ended.status == USAGE
        assert f"--device: found {device}; " in ended.err
        assert why in ended.err
        assert stack.calls == []

    def test_where_there_is_no_linux_a_volume_is_named_by_its_id(self, rewarm, monkeypatch, tmp_path):
        monkeypatch.setattr(named, "SYS", tmp_path / "nowhere")
        ended = rewarm("wait", "--device", str(tmp_path))
        assert (ended.status, "name the volume by its id" in ended.err) == (USAGE, True)

    def test_an_instance_whose_metadata_does_not_answer_is_to_be_named(self, rewarm, monkeypatch):
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:9")
        ended = rewarm("wait", "--instance")
        assert ended.status == FAILED
        assert "instance metadata does not answer" in ended.err
        assert "HttpPutResponseHopLimit" in ended.err
