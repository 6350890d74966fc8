"""What was written to the volume, by the accounts of the agents.

An account may be lost with its agent. So each says whether it is exact, or only the least.
"""

from __future__ import annotations

from rewarm.contracts.base import JsonObject
from rewarm.contracts.rewinding import BlocksWritten, RewindResult
from rewarm.domain.ready import agent_output
from rewarm.domain.ready.agent_output import WROTE_NOTHING, is_one_of
from rewarm.domain.units import count_text
from rewarm.steps.rewind.writer import Writer

RUNS_TOLD = 5


def so_far(pending: RewindResult, writer: Writer) -> BlocksWritten:
    """What the agent of this attempt has written; nothing before its gate was opened."""
    if pending.phase not in ("write", "stop"):
        return BlocksWritten()
    account = writer.account or {}
    count = agent_output.whole_number(account, "blocksWritten")
    resumed = agent_output.whole_number(account, "blocksResumed") or 0
    seen = pending.seen
    return BlocksWritten(
        blocks=max(seen.blocks, (count or 0) + resumed),
        is_exact=count is not None and _is_last_word(writer, account) and not resumed,
        runs=_runs(account) or seen.runs,
    )


def in_all(pending: RewindResult, writer: Writer) -> BlocksWritten:
    """With those of the attempts before."""
    return pending.written.plus(so_far(pending, writer))


def in_words(written: BlocksWritten) -> str:
    """`160 blocks (0 to 99, 700)`, `at least 7 blocks`."""
    least = "" if written.is_exact else "at least "
    runs = ", ".join(
        f"{first:,}" if count == 1 else f"{first:,} to {first + count - 1:,}" for first, count in written.runs
    )
    more = ", …" if runs and sum(count for _, count in written.runs) < written.blocks else ""
    return f"{least}{count_text(written.blocks, 'block')}{f' ({runs}{more})' if runs else ''}"


def _is_last_word(writer: Writer, account: JsonObject) -> bool:
    """The agent ended in order, no earlier run of it was killed, and its result is here."""
    if writer.ended is None or account.get("event") != "result" or account.get("takenBefore") is True:
        return False
    return not is_one_of(writer.ended.exit_code, WROTE_NOTHING)


def _runs(account: JsonObject) -> list[tuple[int, int]]:
    """The instance wrote them: what is no run is passed over."""
    found = account.get("written")
    runs = [one for one in found if isinstance(one, list)] if isinstance(found, list) else []
    pairs = [one for one in runs if len(one) == 2 and all(type(number) is int for number in one)]
    return [(first, count) for first, count in pairs[:RUNS_TOLD]]
