"""Every statement of template.yaml is needed: without it a call is refused, or one that must be is not.

The calls are recorded once, by playing every path and scene; taking the statements out takes a second then.
"""

from __future__ import annotations

from collections.abc import Iterable

from local.aws.permissions.authorizer import Policies, decide
from local.soak.lab.template import stack
from local.soak.trouble.matrix import record
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.permissions.permission_scenes import SCENES
from local.soak.trouble.permissions.permission_use import Use, uses_of_scene, without, witnesses
from local.soak.trouble.permissions.unplayed_uses import forbidden, unplayed

UNNEEDED = "nothing needs "


def statements() -> list[str]:
    """A line for each statement, and how many of them are needed."""
    played = [use for path in PATHS for use in record(path).uses]
    scenes = (use for name in SCENES for use in uses_of_scene(name))
    return report(stack().policies, [*played, *scenes, *unplayed(), *forbidden()])


def report(policies: Policies, uses: Iterable[Use]) -> list[str]:
    """The same, from uses that were recorded before."""
    lines, found = [], witnesses(policies, uses)
    for source, use in found.items():
        if use is None or not _counts(policies, source, use):
            lines.append(f"{UNNEEDED}{source}")
        else:
            lines.append(f"{source}: {use.principal}, {use.need} ({use.where})")
    needed = sum(not line.startswith(UNNEEDED) for line in lines)
    return [*lines, f"{needed} of {len(found)} statements"]


def _counts(policies: Policies, source: str, use: Use) -> bool:
    """Whether the answer is another one without the statement."""
    answers = (decide(each[use.principal], use.need) for each in (policies, without(policies, source)))
    return len({answer.allowed for answer in answers}) > 1
