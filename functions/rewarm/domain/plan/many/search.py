"""A good mix for many volumes: which snapshots get what is paid once, and then what each instance does.

A state says of which snapshots the blocks are fetched, and which volumes fast snapshot restore serves. All
else follows from it: each instance is a knapsack (see instance.py), remembered by what concerns it. The
search begins with the states that the dual's prices suggest (see dual.py), and changes one snapshot at a time
while that helps: a local search as for facility location (Kuehn, Hamburger 1963). To judge a change takes as
long as to fill the instances that it concerns.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from rewarm.domain.plan.estimates import SearchTime
from rewarm.domain.plan.many.dual import Dual, Relaxed
from rewarm.domain.plan.many.instance import Chosen, Knapsack, Task, fits
from rewarm.domain.plan.many.priced import Model, Place
from rewarm.domain.plan.mixes import Choices, SharedResource

MOST_STARTS = 6
"""States of the dual from which the search begins."""
ROUGH_STEPS, FINE_STEPS = 12, 400
"""Steps of a knapsack search, while states are compared, and for the best of them."""
MOST_TRIED, TRIED_OF_EACH = 2_000, 20
"""The most changes that a search tries: a fixed number, and more for each volume."""
STRENGTHS = (1e-5, 1e-3, 1e-1)
"""The least worth of the room on an instance, as a share of what all volumes would cost; the stronger ones
are for searches in which some volume has no resource yet."""
BETTER = 1e-6
"""US dollars."""
PROMISING = 0.5
"""Fast snapshot restore is tried if its volumes would cost at least this many times its price."""
MOST_CLOSED = 3
"""How many snapshots with fast snapshot restore are tried to be closed for another one."""


@dataclass(slots=True)
class State:
    """What is paid once, whatever number of volumes uses it, and what all comes to."""

    open: set[str] = field(default_factory=set)
    fast: dict[Place, tuple[int, ...]] = field(default_factory=dict)
    served: set[int] = field(default_factory=set)
    on_instance: dict[str, float] = field(default_factory=dict)
    usd: float = 0.0
    enabled: int = 0


@dataclass(frozen=True, slots=True)
class Switch:
    """Other volumes for some places, and for the blocks of a snapshot, which are fetched or not."""

    fast: Mapping[Place, tuple[int, ...]] = field(default_factory=dict)
    toggled: str | None = None


class Search:
    """One search over the volumes of a model."""

    def __init__(self, model: Model, dual: Dual, most_enabled: int | None, patience: SearchTime) -> None:
        self._patience = patience
        self._model = model
        self._dual = dual
        self._most_enabled = math.inf if most_enabled is None else most_enabled
        self._known: dict[tuple[object, ...], tuple[float, Chosen]] = {}
        self._known_fast: dict[tuple[int, ...], float] = {}
        self._steps = ROUGH_STEPS
        self._guide = dual.prices
        self._volumes = model.mixes.volumes
        self._instance_of = {index: name for name, members in model.instances.items() for index in members}
        self._left = MOST_TRIED + TRIED_OF_EACH * len(model.indices)

    def best(self) -> Choices:
        """The best that was found; volumes that have nothing are left out."""
        best = self._judged(State())
        if best.usd <= BETTER:
            return self._choices(best)
        self._dual.raised(best.usd)
        starts = [best, *map(self._suggested, self._dual.seen[-MOST_STARTS:])]
        for strength in STRENGTHS:
            self._guide = self._dual.guided(strength)
            starts.append(self._suggested(self._dual.relaxed(self._guide)))
            state = min(starts, key=lambda state: state.usd)
            self._improve(state)
            best = min(best, state, key=lambda state: state.usd)
            if best.usd < self._model.unserved:
                break
            starts = []
        self._steps = FINE_STEPS
        best = self._judged(best)
        self._improve(best)
        return self._choices(best)

    def _suggested(self, relaxed: Relaxed) -> State:
        """As the dual suggests, so far as the quota of snapshots allows it."""
        state = State(open=set(relaxed.open))
        worth = {place: self._worth(served, relaxed.open) for place, served in relaxed.fast.items()}
        for place in sorted(worth, key=lambda place: (-worth[place], place)):
            enables = self._enables(place)
            if state.enabled + enables <= self._most_enabled:
                state.enabled += enables
                state.fast[place] = tuple(sorted(relaxed.fast[place]))
        return self._judged(state)

    def _judged(self, state: State) -> State:
        """With its price."""
        state.served = {index for members in state.fast.values() for index in members}
        state.on_instance = {
            name: self._on_instance(name, state.served, state.open)[0] for name in self._model.instances
        }
        alone = (
            self._model.otherwise[index]
            for index in self._model.indices
            if index not in self._instance_of and index not in state.served
        )
        paid = sum(self._model.blocks_usd[name] for name in state.open)
        paid += sum(map(self._fast_usd, state.fast.values()))
        state.usd = sum(state.on_instance.values()) + sum(alone) + paid
        state.enabled = sum(map(self._enables, state.fast))
        return state

    def _worth(self, members: Iterable[int], opened: set[str]) -> float:
        """What these volumes would cost, at the dual's prices."""
        volumes = self._volumes
        guide = self._guide
        return sum(
            self._dual.worth(index, guide, is_open=volumes[index].facts.snapshot_id in opened)[0]
            for index in members
        )

    def _enables(self, place: Place) -> int:
        return int(place not in self._dual.running)

    def _improve(self, state: State) -> None:
        """Change one snapshot at a time, while any change helps."""
        names = self._dual.snapshots_by_worth(self._guide)
        is_better = True
        while is_better:
            is_better = False
            for name in names:
                for change in self._changes(state, name):
                    if self._left <= 0 or not self._patience.lasts():
                        return
                    self._left -= 1
                    is_better = self._taken(state, change) or is_better

    def _taken(self, state: State, change: Switch) -> bool:
        """Whether the change makes it cheaper; then it is made."""
        opened = state.open if change.toggled is None else state.open ^ {change.toggled}
        was = {index for place in change.fast for index in state.fast.get(place, ())}
        now = {index for members in change.fast.values() for index in members}
        served = (state.served - was) | now
        moved = was ^ now
        if change.toggled is not None:
            moved.update(
                index for index in self._model.snapshots[change.toggled] if index in self._model.write
            )
        usd = sum(self._model.blocks_usd[name] for name in opened - state.open)
        usd -= sum(self._model.blocks_usd[name] for name in state.open - opened)
        for place, members in change.fast.items():
            usd += self._fast_usd(members) - self._fast_usd(state.fast.get(place, ()))
        otherwise = self._model.otherwise
        usd += sum(otherwise[index] for index in was - now if index not in self._instance_of)
        usd -= sum(otherwise[index] for index in now - was if index not in self._instance_of)
        names = {self._instance_of[index] for index in moved if index in self._instance_of}
        after = {name: self._on_instance(name, served, opened)[0] for name in sorted(names)}
        usd += sum(after.values()) - sum(state.on_instance[name] for name in after)
        if usd >= -BETTER:
            return False
        state.open = set(opened)
        state.served = served
        state.on_instance.update(after)
        state.usd += usd
        for place, members in change.fast.items():
            state.enabled += self._enables(place) * (bool(members) - bool(state.fast.get(place)))
            state.fast[place] = members
            if not members:
                del state.fast[place]
        return True

    def _changes(self, state: State, name: str) -> Iterator[Switch]:
        """What could be done with this snapshot instead."""
        members = self._model.snapshots[name]
        if name in self._model.blocks_usd:
            yield Switch(toggled=name)
        places = {self._volumes[index].place for index in members if index in self._model.most_fast}
        for place in sorted(places):
            for served in self._servings(state, place):
                change = Switch({place: tuple(sorted(served))})
                opens = self._enables(place) * (bool(served) - bool(state.fast.get(place)))
                if state.enabled + opens <= self._most_enabled:
                    yield change
                else:
                    yield from self._without_another(state, change, place)

    def _without_another(self, state: State, change: Switch, place: Place) -> Iterator[Switch]:
        """The change together with the closing of another place, for each of those that save least."""
        running = self._dual.running
        others = [other for other in state.fast if other not in running and other != place]
        others.sort(key=lambda other: self._worth(state.fast[other], state.open))
        for other in others[:MOST_CLOSED]:
            yield Switch({**change.fast, other: ()})

    def _servings(self, state: State, place: Place) -> Iterator[Sequence[int]]:
        """The volumes in time that cost most otherwise: none, all, or about as many as the dual suggests."""
        opened = state.open
        worth = {index: self._worth([index], opened) for index in self._model.places[place]}
        served = state.fast.get(place, ())
        prices = self._model.fast_usd[place]
        ordered = sorted(worth, key=lambda index: (-worth[index], self._ease(index), index))
        most = min(len(ordered), len(prices))
        saved = 0.0
        best = (0.0, 0)
        promises = False
        for count, (index, price) in enumerate(zip(ordered, prices, strict=False), start=1):
            saved += worth[index]
            best = max(best, (saved - price, count))
            promises = promises or saved >= PROMISING * price
        if not served and not promises:
            return
        counts = {0, 1, best[1] - 1, best[1], best[1] + 1, len(served) - 1, len(served) + 1, most}
        for count in sorted(counts):
            in_time = [index for index in ordered if self._model.most_fast[index] >= count]
            if 0 <= count <= len(in_time):
                yield in_time[:count]
        yield from self._swapped(served, ordered)

    def _swapped(self, served: Sequence[int], members: Sequence[int]) -> Iterator[Sequence[int]]:
        """One volume more, or instead of another, or of two on its instance; each pair of kinds once."""
        within: dict[tuple[object, ...], list[int]] = {}
        without: dict[tuple[object, ...], int] = {}
        for index in members if len(members) > 1 else ():
            kind = self._kind(index)
            if index in served:
                within.setdefault(kind, []).append(index)
            else:
                without[kind] = index
        yield from ([*served, other] for other in without.values())
        for kind, alike in within.items():
            for other_kind, other in without.items():
                if other_kind != kind:
                    yield [*(each for each in served if each != alike[-1]), other]
        for other_kind, other in without.items():
            beside = [two for kind, alike in within.items() if kind[0] == other_kind[0] for two in alike[:2]]
            for pair in combinations(beside, 2):
                yield [*(each for each in served if each not in pair), other]

    def _kind(self, index: int) -> tuple[object, ...]:
        """Equal for volumes that can stand for each other when one is served."""
        model = self._model
        tasks = (task.likeness for task in model.tasks(index, is_open=True))
        return (self._instance_of.get(index), model.otherwise[index], *tasks)

    def _ease(self, index: int) -> float:
        """How well the agent can read the volume instead."""
        task = self._model.agent.get(index)
        return 0.0 if task is None else task.own_mib_s * task.slack_seconds

    def _fast_usd(self, members: tuple[int, ...]) -> float:
        """The price of fast snapshot restore for these; infinite where one is late."""
        if not members:
            return 0.0
        if members not in self._known_fast:
            price = self._model.mixes.members_usd(members)
            self._known_fast[members] = math.inf if price is None else float(price)
        return self._known_fast[members]

    def _on_instance(self, name: str, served: set[int], opened: set[str]) -> tuple[float, Chosen]:
        """The price of the volumes of an instance that are not served, and what its agents do."""
        members = [index for index in self._model.instances[name] if index not in served]
        tasks = [
            found
            for index in members
            if (found := self._model.tasks(index, is_open=self._volumes[index].facts.snapshot_id in opened))
        ]
        last = tuple((found[-1].index, found[-1].resource) for found in tasks)
        key = (name, self._steps, tuple(members), last)
        if key not in self._known:
            otherwise = {index: self._model.otherwise[index] for index in members}
            self._known[key] = self._filled(tasks, otherwise)
        return self._known[key]

    def _filled(
        self, tasks: Sequence[Sequence[Task]], otherwise: Mapping[int, float]
    ) -> tuple[float, Chosen]:
        first = [found[0] for found in tasks]
        if all(task.usd == 0 for task in first) and fits(first):
            chosen = first
        else:
            able = {found[0].index: otherwise[found[0].index] for found in tasks}
            chosen = Knapsack(self._exactly, self._steps).filled(tasks, able)
        left = dict(otherwise)
        for task in chosen:
            left[task.index] = task.usd
        return sum(left.values()), {task.index: task.resource for task in chosen}

    def _exactly(self, chosen: Chosen) -> bool:
        return self._model.mixes.are_in_time(chosen)

    def _choices(self, state: State) -> Choices:
        """The resource of each volume; agents that are late after all are left out."""
        choices: Choices = {}
        for name in self._model.instances:
            chosen = dict(self._on_instance(name, state.served, state.open)[1])
            while chosen and not self._exactly(chosen):
                least = min(chosen, key=lambda index: (self._model.otherwise[index], index))
                del chosen[least]
            choices.update(chosen)
        choices.update(dict.fromkeys(state.served, SharedResource.FAST))
        for index in self._model.indices:
            apart = self._volumes[index].apart
            if index not in choices and apart is not None:
                choices[index] = apart
        return choices
