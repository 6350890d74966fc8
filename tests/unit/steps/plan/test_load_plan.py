"""State Load Plan."""

from __future__ import annotations

import pytest

from rewarm.domain.errors import RequestRefusedError
from rewarm.domain.model import Strategy
from rewarm.steps.plan.load_plan import LoadPlanEvent, load_plan
from rewarm.steps.record.payloads import write_plans
from tests.support.builders import NOW, RESTORE_ID, assignment, plan, volume_plan
from tests.support.fakes import FakeArtifacts


def event(index: int) -> LoadPlanEvent:
    return LoadPlanEvent(restore_id=RESTORE_ID, now=NOW, index=index)


def test_gives_the_plan_of_this_volume_and_of_no_other() -> None:
    artifacts = FakeArtifacts()
    background = plan(Strategy.BACKGROUND)
    plans = [
        volume_plan(volume=assignment(index=number), fallbacks=[background], budget_usd="1.5")
        for number in range(3)
    ]
    write_plans(RESTORE_ID, plans, artifacts)
    found = load_plan(event(2), artifacts=artifacts)
    assert (found.volume, found.plan, found.fallbacks) == (plans[2].volume, plans[2].plan, [background])
    assert str(found.budget_usd) == "1.5"


def test_says_what_is_gone() -> None:
    with pytest.raises(RequestRefusedError, match=rf"^restores/{RESTORE_ID}/1/plan.json is no longer"):
        load_plan(event(1), artifacts=FakeArtifacts())
