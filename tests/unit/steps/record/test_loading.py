"""How Poll Initialization notes what it saw, for the report."""

from __future__ import annotations

from rewarm.contracts.events import PollInitializationEvent
from rewarm.contracts.results import PollInitializationResult
from rewarm.contracts.values import InitializationSignals
from rewarm.domain.errors import ServiceUnavailableError
from rewarm.domain.time.measured import MOST_SAMPLES, Sample
from rewarm.steps.record import loading
from rewarm.steps.record.bucket import block_map_key, first_map_key, samples_key
from rewarm.steps.record.loading import MOST_BYTES, note_sample, read_samples
from tests.support.builders import NOW, RESTORE_ID, VOLUME_ID, World, assignment, at, plan, request
from tests.support.fakes import FakeArtifacts


def look(world, minute, percent, **signals):
    event = PollInitializationEvent(
        restore_id=RESTORE_ID,
        now=at(minute),
        request=request(),
        volume=assignment(index=2),
        volume_id=VOLUME_ID,
        plan=plan(),
        started_at=NOW,
    )
    result = PollInitializationResult(
        ready=False,
        wait_seconds=15,
        progress_percent=percent,
        bytes_done=int(percent * 1_000),
        bytes_total=100_000,
        mib_per_second=118.04,
        reasons=[],
        signals=InitializationSignals(**signals),
        polls=1,
        first_polled_at=NOW,
        last_progress_at=NOW,
    )
    note_sample(event, result, world.artifacts)


def test_each_look_is_noted_with_what_was_seen():
    world = World()
    look(world, 1, 10.0)
    look(world, 2, 30.0, read_ops_per_minute=[7.0, 240.0], read_latency_ms=1.23456)
    assert read_samples(RESTORE_ID, 2, world.artifacts) == [
        Sample(60.0, 10.0, 10_000, 118.0),
        Sample(120.0, 30.0, 30_000, 118.0, 240.0, 1.235),
    ]


def test_the_longest_series_can_be_read_again():
    world = World()
    for number in range(3 * MOST_SAMPLES):
        look(world, number * 15, 99.9, read_ops_per_minute=[123_456.0], read_latency_ms=1_234.567)
    assert len(read_samples(RESTORE_ID, 2, world.artifacts)) <= MOST_SAMPLES
    text = world.artifacts.get_text(samples_key(RESTORE_ID, 2), most_bytes=MOST_BYTES)
    assert text is not None
    assert len(text) < MOST_BYTES / 2


def test_what_is_no_series_is_begun_anew():
    world = World()
    for broken in ({}, {"samples": 7}, {"samples": [[1]]}, {"samples": [[1, 2, 3, 4, 5, 6, 7]]}):
        world.artifacts.put_json(samples_key(RESTORE_ID, 2), broken)
        assert read_samples(RESTORE_ID, 2, world.artifacts) == []
    look(world, 1, 10.0)
    assert len(read_samples(RESTORE_ID, 2, world.artifacts)) == 1


def test_a_bucket_that_does_not_answer_stops_nothing():
    class Deaf(FakeArtifacts):
        def put_json(self, key, value):
            raise ServiceUnavailableError("503")

        def get_text(self, key, *, most_bytes):
            raise ServiceUnavailableError("503")

    world = World(artifacts=Deaf())
    look(world, 1, 10.0)
    assert read_samples(RESTORE_ID, 2, world.artifacts) == []


class TestHotMap:
    def shown(self, first, written="0 1024\n1500 100\n", size_gib=1):
        artifacts = FakeArtifacts()
        artifacts.texts = {block_map_key(RESTORE_ID, 0): written, first_map_key(RESTORE_ID, 0): first}
        return loading.read_hot_map(RESTORE_ID, 0, size_gib, artifacts)

    def test_each_part_has_the_share_that_is_written_and_that_is_read_first(self):
        parts = self.shown("8 4\n40 16\n")
        assert len(parts) == 128
        assert parts[0] == [1.0, 0.25]
        assert parts[2:4] == [[1.0, 0.5], [1.0, 0.5]]
        assert parts[64] == [0.0, 0.0]
        assert parts[93] == [0.25, 0.0]
        assert sum(first for _, first in parts) * 16 == 20

    def test_without_a_map_or_with_a_large_one_there_is_none(self):
        assert self.shown("") == []
        assert self.shown("1 1\n", written="1 x\n") == []
        assert self.shown("1 1\n" * 1_100_000) == []

    def test_a_run_beyond_the_end_counts_up_to_the_end(self):
        assert self.shown("2040 9000\n")[127] == [0.0, 0.5]
