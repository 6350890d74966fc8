"""The hot set of a volume, by what is in the bucket."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest

from rewarm.contracts.request import Drill
from rewarm.contracts.values import ChangedBlocks, VolumePlan
from rewarm.domain.errors import NoStrategyFitsError, ServiceUnavailableError
from rewarm.domain.model import GIB, Strategy
from rewarm.domain.time.measured import Phase
from rewarm.steps.record.bucket import recording_key, recording_of
from rewarm.steps.record.recordings import read_hot_set, with_hot_sets
from tests.support.builders import (
    NOW,
    RESTORE_ID,
    SNAPSHOT_ID,
    SOURCE_VOLUME_ID,
    VOLUME_ID,
    assignment,
    plan,
    request,
)
from tests.support.fakes import FakeArtifacts
from tests.support.worlds.recordings import keep

DAY = timedelta(days=1)


def found(artifacts, *, lineage=SOURCE_VOLUME_ID, hot="auto", **changes):
    return read_hot_set(request(warmUp={"hot": hot}), assignment(lineage=lineage, **changes), artifacts)


def test_the_newest_eight_recordings_of_the_lineage_count():
    artifacts = FakeArtifacts()
    for age in range(10):
        keep(artifacts, [1, 100 + age], at=NOW - age * DAY)
    keep(artifacts, [5], lineage="vol-0fffffffffffffff0")
    hot = found(artifacts)
    assert (hot.recordings, hot.blocks) == (8, (1, 100, 101, 102, 103))


def test_the_key_says_when_and_of_which_restore_and_the_newest_is_listed_first():
    older, newer = (recording_key("snap-1", at, RESTORE_ID, 3, VOLUME_ID) for at in (NOW - DAY, NOW))
    assert newer < older
    assert recording_of(newer) == ("snap-1", NOW.astimezone(UTC), RESTORE_ID, 3, VOLUME_ID)
    older_key = newer.removesuffix(f"-{VOLUME_ID}")
    assert recording_of(older_key) == ("snap-1", NOW.astimezone(UTC), RESTORE_ID, 3, None)
    assert recording_of("recordings/snap-1/other") is None


def test_copies_have_recordings_of_their_own_and_read_those_of_the_volume_after_them():
    artifacts, copies = FakeArtifacts(), f"copies-of-{SOURCE_VOLUME_ID}"
    keep(artifacts, [7, 8])
    assert found(artifacts, lineage=copies).blocks == (7, 8)
    keep(artifacts, [8, 9], lineage=copies, at=NOW - DAY)
    assert found(artifacts, lineage=copies).blocks == (8, 7, 9)
    assert found(artifacts).blocks == (7, 8), "a tag adds nothing to what the volume has"
    for age in range(2, 9):
        keep(artifacts, [age], lineage=copies, at=NOW - age * DAY)
    hot = found(artifacts, lineage=copies)
    assert (hot.recordings, 7 in hot.blocks, 9 in hot.blocks) == (8, False, True)


def test_a_larger_volume_than_the_snapshot_takes_recordings_of_both_sizes():
    artifacts = FakeArtifacts()
    keep(artifacts, [1])
    assert found(artifacts, snapshot_size_gib=50).blocks == (1,), "as the volume is"
    assert found(artifacts, snapshot_size_gib=100).blocks == (1,), "as the snapshot is"


def test_nothing_is_read_where_it_is_switched_off_or_nothing_is_kept():
    artifacts = FakeArtifacts()
    keep(artifacts, [1])
    assert found(artifacts, hot="off").blocks == ()
    assert found(artifacts, lineage=None).blocks == ()
    assert found(artifacts, lineage="snap-0123456789abcdef0").recordings == 0


def test_what_is_deleted_meanwhile_is_a_note():
    artifacts = FakeArtifacts()
    keep(artifacts, [1])
    del artifacts.texts[keep(artifacts, [2], at=NOW - DAY)]
    hot = found(artifacts)
    assert hot.blocks == (1,)
    assert [note.partition(": ")[2] for note in hot.left_out] == ["it is gone, or has more than 5 MiB"]


def test_a_bucket_that_does_not_answer_is_a_note():
    class Silent(FakeArtifacts):
        def written(self, prefix, *, most):
            raise ServiceUnavailableError(f"no answer about {prefix}")

    hot = found(Silent())
    assert hot.blocks == ()
    assert hot.left_out == (
        f"recordings of {SOURCE_VOLUME_ID} cannot be read: no answer about recordings/{SOURCE_VOLUME_ID}/",
    )


def test_a_recording_of_another_volume_than_the_command_was_for_orders_nothing():
    artifacts = FakeArtifacts()
    keep(artifacts, [1])
    keep(artifacts, [2], at=NOW - DAY, volumeId="vol-0fedcba9876543210")
    hot = found(artifacts)
    assert hot.blocks == (1,)
    (note,) = hot.left_out
    assert note.endswith(f", and not on {VOLUME_ID}")
    assert ': it worked on "vol-0fedcba9876543210"' in note


def planned(artifacts, *plans, objective=None, **asked):
    given = plans or (VolumePlan(volume=assignment(lineage=SOURCE_VOLUME_ID), plan=plan()),)
    return with_hot_sets(request(warmUp=asked, objective=objective or {}), given, artifacts)


def test_a_plan_says_how_large_the_hot_set_is_and_when_it_is_warm():
    artifacts = FakeArtifacts()
    keep(artifacts, range(4_096))
    (told,), notes = planned(artifacts)
    assert (told.hot.bytes, told.hot.recordings) == (2 * GIB, 1)
    assert told.hot.warm_seconds == 15 + (480 - 15) * 2 // 40 + 1
    assert told.hot.warm_p90_seconds == 15 + (840 - 15) * 2 // 40 + 1
    assert notes == ["Hot set: 2 GiB of 40 GiB, warm after about 39 s (by 1 recording)."]


def test_what_comes_before_the_reading_comes_before_the_hot_set():
    artifacts = FakeArtifacts()
    keep(artifacts, range(4_096))
    phases = {Phase.CREATE: (10.0, 20.0), Phase.DELIVER: (8.0, 20.0), Phase.READ: (200.0, 400.0)}
    chosen = plan(phases=phases, ready_p50_seconds=260)
    one = VolumePlan(volume=assignment(lineage=SOURCE_VOLUME_ID), plan=chosen)
    other = VolumePlan(volume=assignment(lineage="vol-0fffffffffffffff0", index=1), plan=chosen)
    plans, notes = planned(artifacts, one, other)
    assert [told.hot and told.hot.warm_seconds for told in plans] == [28, None]
    assert notes == [
        f"Hot set of {SOURCE_VOLUME_ID}: 2 GiB of 40 GiB, warm after about 28 s (by 1 recording)."
    ]


def test_without_a_recording_a_plan_says_what_has_changed():
    changed = ChangedBlocks(since_snapshot_id=SNAPSHOT_ID, blocks=4_096)
    given = VolumePlan(volume=assignment(lineage=SOURCE_VOLUME_ID, changed=changed), plan=plan())
    (told,), notes = planned(FakeArtifacts(), given)
    assert told.hot is None
    assert notes == [f"2 GiB of {SOURCE_VOLUME_ID} changed since {SNAPSHOT_ID}, and are read first."]


def test_a_plan_names_recordings_that_do_not_count():
    artifacts = FakeArtifacts()
    keep(artifacts, [1], bytes=50 * GIB)
    (told,), (note,) = planned(artifacts)
    assert told.hot is None
    assert note.endswith(f"-0-{VOLUME_ID}: it is of a device of 50 GiB.")


@pytest.mark.parametrize(
    "volume",
    [
        VolumePlan(volume=assignment(lineage=SOURCE_VOLUME_ID), plan=plan(Strategy.BACKGROUND)),
        VolumePlan(volume=assignment(lineage=SOURCE_VOLUME_ID, warm_because="it is"), plan=plan()),
    ],
    ids=["EBS loads it", "it is warm"],
)
def test_where_the_agent_reads_nothing_there_is_no_hot_set(volume):
    artifacts = FakeArtifacts()
    keep(artifacts, [1])
    assert planned(artifacts, volume) == ([volume], [])


@pytest.mark.parametrize(
    ("changes", "strategy", "why"),
    [
        ({"unlearned_because": "vol-1 says no"}, Strategy.WARM_UP_AGENT, "vol-1 says no"),
        ({"platform": "windows"}, Strategy.WARM_UP_AGENT, "the agent records on Linux instances only"),
        ({}, Strategy.DIRECT_WRITE, "the agent writes its blocks, and loads none"),
    ],
)
def test_a_plan_says_what_is_not_recorded_and_why(changes, strategy, why):
    volume = VolumePlan(volume=assignment(**changes), plan=plan(strategy))
    _, notes = planned(FakeArtifacts(), volume, learn={"minutes": 20})
    assert notes == [f"What is read of {SNAPSHOT_ID} is not recorded: {why}."]


def test_a_drill_that_starts_no_application_records_nothing():
    drilled = request(warmUp={"learn": {"minutes": 20}}).model_copy(update={"drill": Drill(runbook="orders")})
    _, (note,) = with_hot_sets(drilled, [VolumePlan(volume=assignment(), plan=plan())], FakeArtifacts())
    assert note.endswith("is not recorded: without drill.after a drill starts no application.")


def test_a_plan_says_what_is_recorded_and_for_how_long():
    _, notes = planned(FakeArtifacts(), learn={"minutes": 20})
    assert notes == [f"Which blocks of {SNAPSHOT_ID} are read is recorded for 20 minutes."]


@pytest.mark.parametrize(
    ("blocks", "minutes", "words"),
    [
        (4_096, 1, ""),
        (8_192, 1, f"the hot set of {SNAPSHOT_ID} is warm in 98 s (P90)."),
        (0, 13, f"no recording says what to read first, so all of {SNAPSHOT_ID} is warm in 14 min (P90)."),
        (0, 14, ""),
    ],
)
def test_a_deadline_may_be_about_the_hot_set(blocks, minutes, words):
    artifacts = FakeArtifacts()
    if blocks:
        keep(artifacts, range(blocks))
    objective = {"hotWithinMinutes": minutes}
    late = [note for note in planned(artifacts, objective=objective)[1] if not note.startswith("Hot set:")]
    assert late == ([f"objective.hotWithinMinutes {minutes} is missed: {words}"] if words else [])
    if words:
        with pytest.raises(NoStrategyFitsError, match=r"^objective.hotWithinMinutes: found"):
            planned(artifacts, objective={**objective, "strict": True})


def test_a_deadline_of_the_hot_set_is_for_every_volume_however_many_there_are():
    several = [VolumePlan(volume=assignment(lineage=None), plan=plan())] * 9
    _, notes = planned(FakeArtifacts(), *several, objective={"hotWithinMinutes": 13})
    assert len([note for note in notes if note.startswith("objective.hotWithinMinutes 13 is missed")]) == 9
