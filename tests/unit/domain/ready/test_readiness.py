"""When a volume counts as ready: never while cold, whatever the metrics do."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarm.domain.model import GIB, InitializationStatus, ReadActivity, Strategy
from rewarm.domain.ready.readiness import AgentAccount, Observation, judge
from rewarm.domain.ready.reads import StableRule, latest_read_latency_ms, read_ops_level
from rewarm.domain.ready.waits import agent_wait_seconds, metric_wait_seconds, status_wait_seconds
from tests.support.builders import at

FINISHED = at(10.25)
PATIENT = StableRule(patience=timedelta(minutes=15))
EVENTS_A_LOOK = 14
"""Task 5, Choice 2, and a wait that an event can end: a Task with a token and a time-out, at most 7."""


def reads(minute, ops, read_ms=0.0):
    return ReadActivity(at(minute), float(ops), 0.0, ops * read_ms / 1_000)


def seen(**changes):
    values = {
        "now": at(13.5),
        "strategy": Strategy.WARM_UP_AGENT,
        "bytes_total": GIB,
        "agent": AgentAccount(GIB, GIB),
        "agent_finished_at": FINISHED,
        "stable": PATIENT,
        **changes,
    }
    return Observation(**values)


class TestAgentAndReadOps:
    @pytest.mark.parametrize(
        ("activity", "ready"),
        [
            ([], False),  # late
            ([reads(10, 20_000)], False),  # the minute in which the agent ended
            ([reads(11, 20_000)], False),
            ([reads(11, 40)], True),
            ([reads(11, 20_000), reads(12, 0)], True),
            ([reads(12, 0)], True),  # minute 11 is missing
            ([reads(11, 0), reads(12, 9_000)], False),
            ([reads(12, 9_000), reads(11, 0)], False),  # out of order
            ([reads(13, 0)], False),  # not over yet
        ],
    )
    def test_needs_a_whole_quiet_minute_after_the_agents_end(self, activity, ready):
        assert judge(seen(read_activity=activity)).ready is ready

    def test_quiet_means_as_quiet_as_before(self):
        busy = [reads(11, 1_200)]
        assert not judge(seen(read_activity=busy)).ready
        assert judge(seen(read_activity=busy, read_ops_before=1_000.0)).ready

    def test_silence_before_the_agents_end_proves_nothing(self):
        quiet = [reads(minute, 0) for minute in range(13)]
        assert not judge(seen(read_activity=quiet, agent_finished_at=None)).ready

    def test_a_minute_begins_where_the_agent_ended_on_it(self):
        assert judge(seen(agent_finished_at=at(11), read_activity=[reads(11, 0)])).ready

    def test_waits_a_quarter_of_an_hour_for_metrics_that_never_come(self):
        assert not judge(seen(now=FINISHED + timedelta(minutes=14, seconds=59))).ready
        later = judge(seen(now=FINISHED + timedelta(minutes=15)))
        assert later.ready
        assert later.reasons == (
            (
                "the agent has read every written block "
                "(CloudWatch had no VolumeReadOps of a whole minute after that yet)"
            ),
        )

    @given(
        st.lists(st.builds(reads, st.integers(0, 30), st.integers(0, 50_000)), max_size=20),
        st.integers(0, 40),
    )
    def test_is_never_ready_while_the_agent_reads(self, activity, minute):
        watching = seen(now=at(minute), read_activity=activity, agent_finished_at=None)
        assert not judge(watching).ready

    @given(st.lists(st.builds(reads, st.integers(0, 30), st.integers(0, 50_000)), max_size=10))
    def test_the_order_of_datapoints_changes_nothing_where_minutes_are_distinct(self, activity):
        distinct = list({point.minute: point for point in activity}.values())
        one, other = seen(read_activity=distinct), seen(read_activity=distinct[::-1])
        assert judge(one) == judge(other)

    def test_where_a_measurement_follows_nothing_waits_for_metrics(self):
        for activity in ([], [reads(11, 20_000)]):
            verdict = judge(seen(now=FINISHED, stable=None, read_activity=activity))
            assert (verdict.ready, verdict.reasons) == (True, ("the agent has read every written block",))
        assert not judge(seen(stable=None, agent_finished_at=None)).ready

    def test_no_look_comes_before_the_first_whole_minute_is_over(self):
        waiting = judge(seen(now=FINISHED + timedelta(seconds=5), read_activity=[]))
        assert (waiting.ready, waiting.wait_seconds) == (False, 100)
        later = judge(seen(now=FINISHED + timedelta(seconds=110), read_activity=[]))
        assert (later.ready, later.wait_seconds) == (False, 30)

    def test_the_default_patience_covers_the_latest_whole_minute_that_is_usual(self):
        """Two minutes until it is over at the latest, three until CloudWatch has it."""
        rule, ended = StableRule(), at(10) + timedelta(milliseconds=1)
        late = judge(seen(agent_finished_at=ended, now=at(14.9), stable=rule, read_activity=[]))
        in_time = judge(
            seen(agent_finished_at=ended, now=at(14.9), stable=rule, read_activity=[reads(11, 0)])
        )
        assert (late.ready, in_time.ready) == (False, True)
        assert judge(seen(agent_finished_at=at(10), now=at(15), stable=rule, read_activity=[])).ready

    def test_several_minutes_in_a_row_must_be_quiet_where_asked_for(self):
        rule = StableRule(minutes=2, patience=timedelta(minutes=15))
        for activity, ready in (
            ([reads(11, 0)], False),
            ([reads(11, 0), reads(12, 0)], True),
            ([reads(11, 9_000), reads(12, 0)], False),
            ([reads(11, 9_000), reads(12, 0), reads(13, 0)], True),
        ):
            verdict = judge(seen(now=at(14.1), stable=rule, read_activity=activity))
            assert verdict.ready is ready, activity

    def test_of_a_minute_told_twice_the_busier_account_counts(self):
        twice = [reads(11, 9_000), reads(11, 0)]
        assert not judge(seen(read_activity=twice)).ready
        assert not judge(seen(read_activity=twice[::-1])).ready

    def test_an_application_with_fast_reads_needs_no_patience(self):
        assert not judge(seen(read_activity=[reads(11, 9_000, read_ms=45.0)])).ready
        verdict = judge(seen(read_activity=[reads(11, 9_000, read_ms=0.7)]))
        assert verdict.ready
        assert verdict.reasons[1].endswith("something else reads the volume, at 0.7 ms a read")

    def test_the_time_of_a_read_is_total_time_by_number(self):
        activity = [reads(11, 100, read_ms=4.0), reads(13, 0), reads(12, 50, read_ms=2.0)]
        assert latest_read_latency_ms(activity) == pytest.approx(2.0)
        assert latest_read_latency_ms([reads(11, 0)]) is None

    def test_the_agents_second_warm_up_is_judged_by_the_agent(self):
        done = InitializationStatus("completed", "default", 100, None)
        background = {"strategy": Strategy.BACKGROUND, "initialization": done, "warmed_by_agent": True}
        assert not judge(seen(agent_finished_at=None, **background)).ready
        assert judge(seen(read_activity=[reads(11, 0)], **background)).ready

    def test_progress_stays_below_100_until_the_agent_says_so(self):
        assert judge(seen(agent_finished_at=None)).progress_percent == 99.9
        assert judge(seen(agent_finished_at=None, agent=None)).progress_percent == 0.0
        assert judge(seen(agent=AgentAccount(0, 0))).progress_percent == 100.0


class TestInitialization:
    @given(
        st.sampled_from([None, "initializing", "completed"]),
        st.integers(0, 100),
        st.one_of(st.none(), st.integers(0, 100_000)),
        st.sampled_from([Strategy.BACKGROUND, Strategy.PROVISIONED_RATE]),
    )
    def test_is_ready_only_where_both_signals_agree(self, state, progress, eta, strategy):
        status = InitializationStatus(state, None, progress, eta)
        verdict = judge(seen(strategy=strategy, initialization=status))
        assert verdict.ready == (state == "completed" and progress == 100)
        assert verdict.ready or verdict.progress_percent < 100
        assert verdict.ready or 15 <= verdict.wait_seconds <= 900

    @pytest.mark.parametrize(
        ("before", "standing", "ready"),
        [(0.0, 0.0, False), (98.0, 300.0, False), (99.0, 0.0, True), (0.0, 301.0, True)],
    )
    def test_completed_counts_where_aws_shows_no_progress_any_more(self, before, standing, ready):
        known = {
            "percent_before": before,
            "completed_seconds": standing,
            "strategy": Strategy.PROVISIONED_RATE,
        }
        alone = seen(initialization=InitializationStatus("completed", None, None, None), **known)
        assert judge(alone).ready is ready
        assert judge(alone).progress_percent == (100 if ready else before)
        assert judge(alone).reasons[-1] == "initialization progress is no longer shown"

    @given(st.sampled_from([None, "initializing"]), st.floats(0, 100), st.floats(0, 1e6))
    def test_without_completed_no_memory_makes_it_ready(self, state, before, standing):
        status = InitializationStatus(state, None, None, None)
        known = {"percent_before": before, "completed_seconds": standing}
        assert not judge(seen(strategy=Strategy.BACKGROUND, initialization=status, **known)).ready

    def test_a_progress_that_is_shown_has_the_last_word(self):
        status = InitializationStatus("completed", None, 75, None)
        known = {"percent_before": 99.0, "completed_seconds": 1e6, "strategy": Strategy.BACKGROUND}
        assert not judge(seen(initialization=status, **known)).ready

    @pytest.mark.parametrize("fast_restored", [None, False])
    def test_fast_snapshot_restore_counts_only_where_ec2_says_so(self, fast_restored):
        verdict = judge(seen(strategy=Strategy.FAST_SNAPSHOT_RESTORE, fast_restored=fast_restored))
        assert not verdict.ready
        assert "loads in the background" in verdict.reasons[0]


class TestWaits:
    @pytest.mark.parametrize(
        ("eta", "wait"),
        [(None, 2), (0, 2), (7, 7), (12, 5), (100, 25), (240, 60), (3_600, 60), (3_601, 60), (172_800, 300)],
    )
    def test_follow_the_agents_estimate(self, eta, wait):
        assert agent_wait_seconds(eta) == wait

    def test_48_hours_fit_the_event_history(self):
        left, polls = 172_800, 0
        while left > 0:
            left -= agent_wait_seconds(left)
            polls += 1
        assert polls * EVENTS_A_LOOK < 25_000 / 2

    @pytest.mark.parametrize("told", ["nothing", "plan", "progress", "wrong plan", "rate"])
    def test_48_hours_in_the_background_write_under_5000_events(self, told):
        whole, seconds, polls = 172_800.0, 0.0, 0
        while seconds < whole:
            left, percent = whole - seconds, min(99, int(100 * max(0.0, seconds - 300) / whole))
            seconds += status_wait_seconds(
                aws_seconds_left=left + 300 if told == "rate" else None,
                planned_seconds_left={"plan": left, "wrong plan": 0.05 * seconds}.get(told),
                progress_percent=percent if told in {"progress", "rate"} else None,
                spent_seconds=seconds,
            )
            polls += 1
        assert polls * EVENTS_A_LOOK < 4_900, polls

    @pytest.mark.parametrize("told", ["nothing", "plan", "progress"])
    def test_two_months_in_the_background_fit_the_history(self, told):
        """64 TiB, the largest volume that there is."""
        whole, seconds, polls = 64 * 86_400.0, 0.0, 0
        while seconds < whole:
            seconds += status_wait_seconds(
                aws_seconds_left=None,
                planned_seconds_left=whole - seconds if told == "plan" else None,
                progress_percent=min(99, int(100 * seconds / whole)) if told == "progress" else None,
                spent_seconds=seconds,
            )
            polls += 1
        assert polls * EVENTS_A_LOOK < 20_000, polls

    def test_three_days_at_a_standstill_fit_the_history(self):
        """What AWS says is left does not change either."""
        seconds, polls = 0.0, 0
        while seconds < 259_200:
            seconds += status_wait_seconds(
                aws_seconds_left=450.0,
                planned_seconds_left=0.05 * seconds,
                progress_percent=50,
                spent_seconds=seconds,
                standing_seconds=seconds,
            )
            polls += 1
        assert polls * EVENTS_A_LOOK < 10_000, polls

    @pytest.mark.parametrize("whole", [60, 600, 3_600, 10_486, 172_800])
    def test_what_aws_foresees_is_seen_within_90_seconds(self, whole):
        """AWS's own time, as old as it may be; the wait in which it turns must be short."""
        seconds = wait = 0.0
        while seconds < whole + 300:
            told = 300 * (seconds // 300)
            wait = status_wait_seconds(
                aws_seconds_left=max(1.0, whole - told),
                planned_seconds_left=whole,
                progress_percent=min(99, int(100 * told / whole)),
                spent_seconds=seconds,
            )
            seconds += wait
        assert wait <= 90

    def test_metrics_are_looked_for_every_half_minute(self):
        assert [metric_wait_seconds(left) for left in (0, 0.2, 9.1, 600)] == [1, 1, 10, 30]


class TestLevelBefore:
    def test_is_the_median(self):
        assert read_ops_level([reads(0, 1), reads(1, 9), reads(2, 1_000)]) == 9

    def test_of_a_new_volume_is_nothing(self):
        assert read_ops_level([]) == 0
