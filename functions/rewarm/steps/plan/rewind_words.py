"""What a plan says of a rewind: the way back, why this way, and what is uncertain."""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.contracts.plans import RewindWay
from rewarm.domain.blocks.rewind import RewindEstimate
from rewarm.domain.blocks.rewind_facts import WAYS
from rewarm.domain.units import clock_text, count_text, duration_text, usd_text
from rewarm.ports import JsonObject
from rewarm.steps.plan.rewind_cases import RewindCase


def way_back(volume_id: str, chosen: RewindEstimate) -> str:
    """What is kept of the volume."""
    usd = chosen.kept_usd_a_month
    price = f", about {usd_text(usd)} a month" if usd else ""
    if chosen.way.waits:
        return (
            f"A snapshot of {volume_id} as it is then is made first and kept{price}. A rewind to it undoes "
            "the rewind."
        )
    return (
        f"An undo log in the stack's bucket keeps what {volume_id} has in each block before that is "
        f"written{price}. A rewind with source.undoOf undoes the rewind."
    )


def why_this_way(ways: Sequence[RewindWay]) -> str:
    """The chosen way and the others, the chosen one first."""
    return " ".join(_sentence(way) for way in ways)


def _sentence(way: RewindWay) -> str:
    words = next(one.words for one in WAYS if (one.evidence, one.compare) == (way.evidence, way.compare))
    if way.seconds_p50 is None or way.cost_usd is None:
        return f"Not possible is {words}: {(way.reason or '').rstrip('.')}."
    times = f"{duration_text(way.seconds_p50)} (P90 {duration_text(way.seconds_p90 or 0)})"
    if way.chosen:
        return f"The way is {words}: {times}, {usd_text(way.cost_usd)}."
    return f"Another one is {words}: {times}, {usd_text(way.cost_usd)}."


def uncertain(case: RewindCase, chosen: RewindEstimate, sooner: RewindEstimate | None) -> list[str]:
    """What is not certain of the figures, and how much sooner it is if nothing was written since."""
    found, facts = [], case.facts
    if case.newest is not None and facts.changed.listed_share < 1:
        found.append(
            f"The list of changed blocks was read for {facts.changed.listed_share:.0%} of the volume; the "
            "rest is drawn out from that."
        )
    if case.newest is not None and facts.since is None:
        found.append(
            f"CloudWatch does not say what was written since {case.newest.snapshot_id} of "
            f"{clock_text(case.newest.started_at)}, so at most the whole volume has changed."
        )
    if case.newest is None and not facts.logged:
        found.append("Nobody knows before how many blocks differ, so at most the whole volume does.")
    if chosen.way.waits and not case.pending:
        found.append("How long the snapshot that is made first is pending is a guess: no earlier one says.")
    if facts.logged and chosen.expected != chosen.most:
        found.append("Nobody has counted the blocks of the undo log: a pack has between 1 and 512.")
    if case.rewound is not None:
        found.append(_if_unwritten(case.volume.volume_id, case.rewound, sooner))
    return found


def _if_unwritten(volume_id: str, rewound: JsonObject, sooner: RewindEstimate | None) -> str:
    """The other branch, which only the agent can choose."""
    takes = "it is sooner"
    if sooner is not None:
        times, usd = sooner.seconds, usd_text(sooner.usd)
        blocks = count_text(sooner.expected.blocks, "block")
        takes = (
            f"just {blocks} are read and written: {duration_text(times.p50)} (P90 "
            f"{duration_text(times.p90)}), {usd}"
        )
    return (
        f"If nothing was written to {volume_id} since its last rewind ended, at {rewound.get('at')}, "
        f"{takes}. Then {rewound.get('snapshotId')} has what is on it. Only the agent can say so, and the "
        "times are those of the safe way."
    )
