"""Price against deadline: steps where the offers are, and a place where nothing is in time."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from rewarm.charts import frontier
from rewarm.charts.frontier import Frontier, Offer

OFFERS = [
    *(
        Offer(
            600 + 10 * number,
            0.36 - 0.01 * number,
            f"${0.36 - 0.01 * number:.2f}",
            "provisioned-rate",
            "rate",
        )
        for number in range(20)
    ),
    Offer(1_900, 0.0001, "$0.0001", "warm-up-agent", "agent"),
]
FRONTIER = Frontier("100 GiB", OFFERS, deadline_seconds=900, budget_usd=0.3, choice_usd=0.17)


def curves(axes):
    return {line.get_gid(): line for line in axes.lines if str(line.get_gid()).startswith("curve-")}


def test_each_offer_is_a_step_to_the_next():
    (axes,) = frontier.draw(FRONTIER).axes
    rate, agent = curves(axes)["curve-provisioned-rate-600"], curves(axes)["curve-warm-up-agent-1900"]
    assert rate.get_drawstyle() == agent.get_drawstyle() == "steps-post"
    assert list(rate.get_xdata()) == [*(offer.deadline_seconds for offer in OFFERS[:-1]), 1_900]
    assert list(rate.get_ydata())[:20] == [offer.usd for offer in OFFERS[:-1]]
    assert list(agent.get_xdata()) == [1_900, axes.get_xlim()[1]]


def test_the_place_where_nothing_is_in_time_ends_with_the_first_offer():
    (axes,) = frontier.draw(FRONTIER).axes
    (zone,) = [patch for patch in axes.patches if patch.get_gid() == "none-in-time"]
    assert zone.get_x() + zone.get_width() == pytest.approx(600)
    assert zone.get_hatch()


def test_the_deadline_and_the_choice_are_marked():
    (axes,) = frontier.draw(FRONTIER).axes
    (choice,) = [line for line in axes.lines if line.get_gid() == "choice"]
    assert (choice.get_xdata()[0], choice.get_ydata()[0]) == (900, 0.17)
    (deadline,) = [line for line in axes.lines if line.get_gid() == "deadline"]
    assert set(deadline.get_xdata()) == {900}


@pytest.mark.parametrize("seconds", [None, 300])
def test_where_no_deadline_is_met_no_choice_is_marked(seconds):
    (axes,) = frontier.draw(Frontier("x", OFFERS, seconds)).axes
    assert not [line for line in axes.lines if line.get_gid() == "choice"]


def test_the_labels_say_from_when_on_and_for_how_much():
    (axes,) = frontier.draw(FRONTIER).axes
    words = {text.get_text() for text in axes.texts}
    assert {"from 10 min on: $0.36 to $0.17\nrate", "from 32 min on: $0.0001\nagent"} <= words


def test_one_offer_is_enough():
    (axes,) = frontier.draw(Frontier("x", OFFERS[-1:])).axes
    assert list(curves(axes)) == ["curve-warm-up-agent-1900"]


def test_the_picture_can_be_heard():
    picture = ET.fromstring(frontier.document(FRONTIER))
    told = picture.find("{http://www.w3.org/2000/svg}desc").text
    assert told == "100 GiB. from 10 min: rate, $0.36; from 32 min: agent, $0.0001."
