"""One arrangement, drawn from a seed and a number, whatever was drawn before it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.local.agent.arrangements import layers, users
from tests.local.agent.arrangements.templates import Templates

MOST_LAYERS = 3


@dataclass(frozen=True)
class Kinds:
    """What this kernel has."""

    layers: tuple[str, ...]
    users: tuple[str, ...]


@dataclass(frozen=True)
class Arrangement:
    """What is built on the volume, from below."""

    layers: tuple[str, ...]
    user: str
    is_over: bool  # built and taken down before the agent comes

    @property
    def is_in_use(self) -> bool:
        """Partitions alone are no use."""
        has_holder = any(one not in layers.PARTITIONS for one in self.layers)
        return not self.is_over and (self.user != "nobody" or has_holder)

    @property
    def is_quiet(self) -> bool:
        """Whether nobody but the agent could write."""
        has_array = any(one in layers.OF_RAID or one == "LVM" for one in self.layers)
        return not has_array and (self.user in users.OF_READERS or self.user in users.OF_PROGRAMS)


def kinds_here(templates: Templates) -> Kinds:
    """What this kernel and the programs here can do; device-mapper and RAID are drawn twice as often."""
    names = list(layers.OF_LOOPS)
    names += list(layers.OF_MAPPER) * 2 if layers.has_mapper() else []
    names += list(layers.OF_RAID) * 2 if layers.has_raid() else []
    found = [one for one in users.USERS if one not in users.OF_SERVERS] + users.served()
    if not users.has_ring():
        found.remove("ring")
    if not templates.has("btrfs"):
        found.remove("second member")
    return Kinds(tuple(names), tuple(found))


def draw(kinds: Kinds, random: Random) -> Arrangement:
    """Draw one: a fifth is over, and in one of eight nobody uses what is on top."""
    is_over = random.random() < 0.2
    names: list[str] = []
    for _ in range(random.randint(0, MOST_LAYERS)):
        fitting = [one for one in kinds.layers if _fits(one, names)]
        names += random.sample(fitting, min(1, len(fitting)))
    fitting = [one for one in kinds.users if _uses(one, names)]
    user = "nobody" if random.random() < 0.125 else random.choice(fitting)
    return Arrangement(tuple(names), user, is_over)


def _fits(layer: str, below: list[str]) -> bool:
    """Partitions are made of disks; only a reader stands on what is read-only."""
    if "read-only loop" in below:
        return False
    return layer not in layers.PARTITIONS or not below or below[-1] in ("loop", "loop by lost name")


def _uses(user: str, below: list[str]) -> bool:
    return user in users.OF_READERS or "read-only loop" not in below
