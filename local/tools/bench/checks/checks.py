"""What `make bench` measures instead of time if asked to: politeness, rate limit, kills, observing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from local.tools.bench.checks.applying import SPECS, apply_spec, check_apply
from local.tools.bench.checks.hot import check_hot
from local.tools.bench.checks.kills import check_kills, kill_line, kill_volume
from local.tools.bench.checks.observing import check_observing
from local.tools.bench.checks.politeness import check_politeness
from local.tools.bench.checks.rate_limit import check_rate_limit
from local.tools.bench.options import Options
from local.tools.bench.session import Session
from local.tools.bench.specs import ENGINES, FIO_AWS

Tell = Callable[[str], None]


def is_check(options: Options) -> bool:
    """Whether one of them is asked for."""
    asked = (
        options.check_politeness,
        options.apply,
        options.hot,
        options.observe,
        options.check_rate_limit,
        options.check_kill,
    )
    return any(asked)


def tools_of_check(options: Options) -> list[str]:
    """What has to be installed for it."""
    return [FIO_AWS] if options.check_politeness or options.observe else list(engines_of(options))


def engines_of(options: Options) -> tuple[str, ...]:
    """Those of the agent's engines that are wanted."""
    return tuple(tool for tool in ENGINES if tool in options.tools)


def run_check(session: Session, options: Options, tell: Tell) -> dict[str, Any]:
    """The check's name and what it found."""
    if options.check_politeness:
        return {"politeness": _politeness(session, options, tell)}
    if options.check_rate_limit:
        return {"rate_limit": _rate_limit(session, options, options.check_rate_limit, tell)}
    if options.apply:
        return {"apply": _apply(session, options, tell)}
    if options.observe:
        return {"observe": _observe(session, options, tell)}
    if options.hot:
        return {"hot": check_hot(session, options.rounds, tell)}
    return {"kills": _kills(session, options, options.check_kill or 0, tell)}


def _apply(session: Session, options: Options, tell: Tell) -> list[dict[str, Any]]:
    specs = [apply_spec(spec.limits, options.size_gib) for spec in SPECS]
    tell("Blocks of a snapshot, written to a warm volume; of the limit is bytes / throughput by seconds:")
    return check_apply(session, specs, options.rounds, tell)


def _observe(session: Session, options: Options, tell: Tell) -> list[dict[str, Any]]:
    tell(
        f"An application's 4 KiB reads with `warmer observe` beside it and without, {options.rounds} rounds:"
    )
    return [asdict(one) for one in check_observing(session, options.size_gib, options.rounds, tell)]


def _politeness(session: Session, options: Options, tell: Tell) -> list[dict[str, Any]]:
    tell(
        "An application's 4 KiB reads of warm blocks, one at a time, while the rest of the volume is warmed:"
    )
    found = check_politeness(session, options.size_gib, options.polite_latency_ms, options.rounds, tell)
    return [asdict(one) for one in found]


def _rate_limit(session: Session, options: Options, limit_mib_s: float, tell: Tell) -> list[dict[str, Any]]:
    tell("The volume's own count of bytes, over any five seconds once the first blocks are back:")
    found = check_rate_limit(session, engines_of(options), limit_mib_s, tell)
    return [asdict(one) for one in found]


def _kills(session: Session, options: Options, kills: int, tell: Tell) -> list[dict[str, Any]]:
    spec = kill_volume(kills, options.size_gib)
    tell(f"Killed at {kills} random moments and started anew; {spec.text}:")
    found = []
    for number, tool in enumerate(engines_of(options)):
        found.append(check_kills(session, spec, tool, kills, seed=kills + number))
        tell(kill_line(found[-1]))
    return [asdict(one) for one in found]
