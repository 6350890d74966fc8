"""What rules find in the Region: volumes with their instances and snapshots, and whether rules adopt them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal

from rewarm.contracts.base import parsed
from rewarm.contracts.rules import MOST_RULES, AdoptionRule, RuleMatch
from rewarm.domain.errors import RestoreError
from rewarm.domain.model import Instance, InstanceEbsLimits, Volume
from rewarm.domain.tags import any_value
from rewarm.domain.value import Value
from rewarm.domain.volume.adopting import agent_refusal, volume_in_use_refusal
from rewarm.domain.volume.rules import fits, is_for_rules, is_new
from rewarm.ports.restores import FIRST, LAST, RULE, RestoreTable
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.record.bucket import has_agent
from rewarm.steps.select.adoptions import AdoptionPorts


class NamedRule(Value):
    """A rule with its name; volumes that are older than its text are left alone."""

    name: str
    rule: AdoptionRule
    written_at: datetime


class Found(Value):
    """A volume that a rule fits: it can be adopted, may be one day, or never will be."""

    by: NamedRule
    volume: Volume
    state: Literal["adopt", "wait", "refuse"]
    reason: str = ""

    @property
    def instance_id(self) -> str:
        """The instance of a volume that can be adopted."""
        return self.volume.attachments[0].instance_id


def named_rules(table: RestoreTable) -> list[NamedRule]:
    """All rules by name, without those that another version wrote and this one cannot read."""
    entries, _ = table.listed(RULE, since=FIRST, until=LAST, after=None, limit=MOST_RULES)
    found = []
    for entry in sorted(entries, key=lambda entry: entry.name):
        try:
            rule = parsed(AdoptionRule, entry.record.get("request"))
        except RestoreError:
            continue
        found.append(NamedRule(entry.name, rule, datetime.fromisoformat(entry.at)))
    return found


def of_match(match: RuleMatch, ports: AdoptionPorts) -> Iterator[Volume]:
    """Volumes that fit the rule's tags of one kind; the rest of the rule is looked at later."""
    if match.volume_tags:
        yield from ports.volumes.with_tags(any_value(match.volume_tags))
    elif match.snapshot_tags:
        found = ports.snapshots.with_tags(any_value(match.snapshot_tags))
        yield from ports.volumes.of_snapshots([snapshot.snapshot_id for snapshot in found])
    else:
        yield from on_instances(ports.instances.with_tags(any_value(match.instance_tags)), ports.volumes)


def on_instances(instances: Iterable[Instance], volumes: VolumeStore) -> Iterator[Volume]:
    """The volumes that are attached to the instances."""
    return volumes.existing(sorted({name for instance in instances for name in instance.devices.values()}))


def judged(
    volumes: Iterable[Volume],
    rules: Collection[NamedRule],
    ports: AdoptionPorts,
    new_at: datetime | None = None,
) -> Iterator[Found | Volume]:
    """Each volume with the verdict of the first rule that fits; the volume alone if no rule can tell yet.

    Leaves out volumes that no rule fits, and with `new_at` those that are not new to a rule at that time.
    Describes many instances and snapshots at a time.
    """
    known = [volume for volume in volumes if is_for_rules(volume)]
    places = {place.instance_id for volume in known for place in volume.attachments if place.instance_id}
    reached = ports.instances.reached(sorted(places)) if places else ()
    instances = {instance.instance_id: instance for instance in reached}
    tags = _snapshot_tags(known, rules, ports.snapshots)
    agents = _Agents(ports)
    for volume in known:
        where = next((instances.get(place.instance_id) for place in volume.attachments), None)
        own = tags.get(volume.snapshot_id or "", {})
        asked = [rule for rule in rules if new_at is None or is_new(volume, rule.written_at, new_at)]
        answers = [(rule, fits(rule.rule.match, volume, where, own)) for rule in asked]
        rule = next((fitting for fitting, answer in answers if answer), None)
        if rule is not None:
            yield agents.found(rule, volume, where)
        elif any(answer is None for _, answer in answers):
            yield volume


def _snapshot_tags(
    volumes: Iterable[Volume], rules: Iterable[NamedRule], snapshots: SnapshotCatalog
) -> dict[str, Mapping[str, str]]:
    """The tags of the volumes' snapshots, where a rule asks for them. EC2 shows no others' tags."""
    names = sorted({volume.snapshot_id for volume in volumes if volume.snapshot_id})
    if not names or not any(rule.rule.match.snapshot_tags for rule in rules):
        return {}
    return {snapshot.snapshot_id: snapshot.tags for snapshot in snapshots.restorable(names)}


class _Agents:
    """Whether an agent can read a volume; asks once what is the same for many instances."""

    def __init__(self, ports: AdoptionPorts) -> None:
        self._ports = ports
        self._limits: dict[str, InstanceEbsLimits] = {}
        self._agents: dict[tuple[str, str], bool] = {}

    def found(self, rule: NamedRule, volume: Volume, instance: Instance | None) -> Found:
        """What the volume is to the rule."""
        refusal = volume_in_use_refusal(volume)
        if refusal is None and instance is None:
            return Found(rule, volume, "wait", f"EC2 does not show {volume.attachments[0].instance_id} yet")
        if refusal is None and instance is not None:
            refusal = agent_refusal(instance, self._of(instance), agent_available=self._has_agent(instance))
        if refusal is None:
            return Found(rule, volume, "adopt")
        return Found(rule, volume, "wait" if refusal.may_pass else "refuse", refusal.reason)

    def _of(self, instance: Instance) -> InstanceEbsLimits:
        kind = instance.instance_type
        if kind not in self._limits:
            self._limits[kind] = self._ports.instances.ebs_limits(kind)
        return self._limits[kind]

    def _has_agent(self, instance: Instance) -> bool:
        kind = instance.platform, instance.architecture
        if kind not in self._agents:
            self._agents[kind] = has_agent(*kind, self._ports.artifacts)
        return self._agents[kind]
