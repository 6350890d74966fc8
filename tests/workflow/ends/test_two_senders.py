"""A restore that is stopped and redriven while its failure is announced, on the fast lab.

People hear of it once. The sweeper announces what was stopped, and the redriven execution announces its own
failure. One of them stands still while it sends, so the other one always comes between its look and its note.
"""

from __future__ import annotations

import pytest

from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import RESTORE
from local.soak.lab.lab import FastLab
from local.soak.lab.transport import Call, NoInterference, Refusal
from local.soak.trouble.matrix import SWEPT_SECONDS
from local.soak.trouble.paths.interrupted_paths import stopped
from local.soak.trouble.paths.paths import request, restored

SWEEPER, STATE = "SweepFunction", "Announce Failure"
SOON_SECONDS, LATE_SECONDS, NEVER_SECONDS = 5.0, 45.0, 1_000.0
"""As a message may take; longer than the other one waits in its function; until Lambda ends the function."""
MOST_SECONDS = 3_600.0


class StandsStill(NoInterference):
    """One sender has looked whether the message was sent, and sends nothing for some time."""

    def __init__(self, place: str, seconds: float) -> None:
        self.lab: FastLab | None = None
        self.place, self.seconds, self.is_sending = place, seconds, False

    def before(self, call: Call) -> Refusal | None:
        """The first message of that place is about the failure: nothing else is sent there."""
        if call.key == (self.place, "events", "PutEvents") and not self.is_sending:
            self.is_sending = True
            assert self.lab is not None
            self.lab.sleep(self.seconds)
        return None


@pytest.mark.parametrize("seconds", [SOON_SECONDS, LATE_SECONDS, NEVER_SECONDS])
@pytest.mark.parametrize(("place", "redrives"), [(SWEEPER, 1), (STATE, 1), (STATE, 2)])
def test_a_restore_that_is_stopped_and_redriven_at_once_is_announced_once(
    place: str, redrives: int, seconds: float
) -> None:
    still = StandsStill(place, seconds)
    with FastLab(1, interference=still) as lab:
        still.lab = lab

        def stop_and_redrive(restore_id: str) -> None:
            stopped(lab, "Poll Initialization", "Wait For Initialization")(restore_id)
            main = lab.execution(RESTORE, restore_id)
            assert main is not None
            if place == SWEEPER:
                lab.run(lambda: still.is_sending, most_seconds=MOST_SECONDS)
            lab.states.redrive(main.arn)
            if place == STATE:
                lab.run(lambda: still.is_sending, most_seconds=MOST_SECONDS)
                lab.states.stop(main.arn)
            if redrives == 2:
                lab.states.redrive(main.arn)

        ending = restored(lab, request(lab, "warm-up-agent"), during=stop_and_redrive)
        lab.pass_time(SWEPT_SECONDS)
        assert still.is_sending
        titles = [posted["text"] for posted in lab.slack]
        ends = [title for title in titles if "Restore failed" in title or "Restore cancelled" in title]
        assert len(ends) == 1, ends
        assert Auditor(lab).findings(ending) == []
        main = lab.execution(RESTORE, ending.restore_ids[0])
        assert main is not None
        assert main.redrives == redrives
