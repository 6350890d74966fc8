"""What became of adopted volumes: has Rewarm only looked at them, and warmed up none twice at once."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from local.aws.region.audit import billed_settings
from local.aws.region.resources import VolumePerformance
from local.soak.lab.endings import RESTORE, VOLUME
from rewarm.domain.volume.adopting import WARM_SINCE_TAG
from rewarm.steps.record.restore import RULE_PREFIX

LOOKS = ("Describe", "List", "Get")
ALLOWED = frozenset({("Release", "ec2", "CreateTags")})
BOOSTS = frozenset(
    (place, "ec2", "ModifyVolume")
    for place in ("Boost Volume", "Release", "Clean Up", "Clean Up Attempt", "SweepFunction")
)
CONSENT = ("rewarm:managed", "true")
SENT = "Dispatch Warmer"
RAISED, LOWERED, CHANGED = "raised", "lowered", "changed by others"


class AdoptionAudit:
    """Looks at a lab in which every request is an adoption; elsewhere calls cannot be told apart."""

    def __init__(self, lab: Any) -> None:
        self._lab = lab

    def findings(self) -> Iterator[str]:
        """A sentence for each call that changes more than a tag, tag of ours, and double warm-up."""
        asked = [one.input.get("request") or {} for one in self._lab.executions(RESTORE)]
        sources = [request.get("source") or {} for request in asked]
        if not sources or not all(source.get("existing") for source in sources):
            return
        for key in sorted(self._lab.calls):
            if key[1] == "ec2" and not key[2].startswith(LOOKS) and key not in ALLOWED | BOOSTS:
                yield f"{key[0]} has called {key[2]}, and every volume is somebody else's"
        yield from self._tagged()
        yield from self._boosted()
        yield from self._warmed_twice()
        yield from self._adopted_again()
        yield from self._forgotten()

    def _tagged(self) -> Iterator[str]:
        for name in self.adopted():
            volume = self._lab.region._tables.volumes.get(name)
            keys = [] if volume is None or name in self._lab.outside.others else list(volume.tags)
            for key in keys:
                if key.startswith("rewarm:") and key not in {WARM_SINCE_TAG, CONSENT[0]}:
                    yield f"volume {name} of somebody else has got the tag {key}"

    def _boosted(self) -> Iterator[str]:
        """What its owner has not allowed is never changed; what Rewarm has raised is lowered.

        Where the owner has taken the consent back, a message has the command that lowers it.
        """
        asking = {
            name
            for name, executions in self.adopted().items()
            for one in executions
            if one.input["request"]["source"]["existing"].get("boost")
        }
        for name, boosts in self.boosts().items():
            volume = self._lab.region._tables.volumes[name]
            is_over = name in self._lab.outside.unconsented
            if name not in asking or (volume.tags.get(CONSENT[0]) != CONSENT[1] and not is_over):
                yield f"volume {name} of somebody else was changed, and nobody has allowed it"
            if boosts[-1:] == [RAISED] and not (is_over and self._says_how_to_lower(name)):
                yield f"volume {name} of somebody else still has its boost"

    def still_raised(self) -> dict[str, bool]:
        """The volumes that still have their boost, and whether a message says how to lower them."""
        adopted = self.adopted()
        raised = [name for name, boosts in self.boosts().items() if boosts[-1:] == [RAISED]]
        return {name: self._says_how_to_lower(name) for name in raised if name in adopted}

    def _says_how_to_lower(self, volume_id: str) -> bool:
        sent = [*self._lab.slack, *(one["detail"] for one in self._lab.events.sent), *self._lab.alarmed]
        return f"modify-volume --volume-id {volume_id}" in json.dumps(sent)

    def boosts(self) -> dict[str, list[str]]:
        """What became of each volume that functions asked EC2 to change, in order, without its growth."""
        found: dict[str, list[str]] = {}
        for name, asked in sorted(self._lab.removals.changes.items()):
            volume = self._lab.region._tables.volumes.get(name)
            if volume is None or volume.state == "deleting":
                continue
            settings = [_performance(one) for _, one in billed_settings(volume)]
            found[name], original = [], None
            for before, now in pairwise(settings):
                if now == before:
                    continue
                if original is None and now in asked:
                    original = before
                    found[name].append(RAISED)
                elif original is not None:
                    found[name].append(LOWERED if now == original else CHANGED)
                    original = None
        return found

    def _warmed_twice(self) -> Iterator[str]:
        """Of two warm-ups on two instances only one finds the volume: it has moved meanwhile."""
        for name, executions in self.adopted().items():
            until: dict[str, float] = {}
            for one in sorted(executions, key=lambda execution: execution.started):
                sent = next((answer["instanceId"] for state, answer in one.answers if state == SENT), None)
                if sent is None:
                    continue
                if one.started < until.get(sent, 0.0):
                    yield f"volume {name} was warmed up twice at once, the second time by {one.name}"
                until[sent] = max(until.get(sent, 0.0), one.stopped or self._lab.scheduler.now)

    def _adopted_again(self) -> Iterator[str]:
        """Rules adopt a volume once in its life, whatever events and sweeps do."""
        asked = [one.input for one in self._lab.executions(RESTORE) if one.name.startswith(RULE_PREFIX)]
        named = Counter(name for one in asked for name in one["request"]["source"]["existing"]["volumeIds"])
        for name, count in sorted(named.items()):
            if count > 1:
                yield f"rules have adopted volume {name} {count} times"

    def _forgotten(self) -> Iterator[str]:
        """Volumes that a rule fits, and that nobody has adopted after several sweeps without trouble.

        A rule refuses what is attached too late, and needs neither a volume that was made empty nor one whose
        instance is away or was silent.
        """
        status, found = self._lab.api("GET", "/rules/orders")
        if status != 200 or found["rule"]["mode"] != "act":
            return
        rule = found["rule"]
        match = rule["match"]
        ((key, value),) = (match["volumeTags"] or match["instanceTags"]).items()
        known = set(self.adopted())
        for one in self._lab.executions(RESTORE):
            known |= set(one.input["request"]["source"]["existing"].get("volumeIds") or ())
        tables, patience = self._lab.region._tables, 60 * rule["limits"]["waitForAttachmentMinutes"]
        for name, volume in sorted(tables.volumes.items()):
            in_time = [
                place.instance_id
                for place in volume.attachments.values()
                if place.attach_time <= volume.create_time + patience
            ]
            tagged = [volume.tags] if match["volumeTags"] else [tables.instances[one].tags for one in in_time]
            is_tagged = any(value in {"*", one[key]} for one in tagged if key in one)
            able = [tables.instances[one].state == "running" for one in in_time]
            can_run = in_time and all(able) and self._lab.outside.silent.isdisjoint(in_time)
            if is_tagged and volume.snapshot is not None and can_run and name not in known:
                yield f"the rule has forgotten volume {name}"

    def adopted(self) -> dict[str, list[Any]]:
        """The executions of each volume of others; these may delete it at any time."""
        found: dict[str, list[Any]] = defaultdict(list)
        for execution in self._lab.executions(VOLUME):
            if name := execution.input["volume"].get("adopts"):
                found[name].append(execution)
        return found


def _performance(found: VolumePerformance) -> tuple[str, str, str]:
    """As ModifyVolume is asked for it."""
    return found.volume_type, str(found.iops), str(found.throughput_mib_s)
