"""PUT, GET and DELETE /rules/{name}, and GET /rules/{name}/check: what the rule would adopt now."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from rewarm.contracts.request import MOST_LISTED
from rewarm.contracts.rules import (
    MOST_RULES,
    FoundAdoption,
    PassedOverVolume,
    RuleCheck,
    check_rule_name,
    parse_rule,
)
from rewarm.domain.errors import InvalidRequestError, RuleNotFoundError
from rewarm.domain.model import Caller
from rewarm.domain.parts import EVERY_PART, Parts
from rewarm.domain.units import shown
from rewarm.domain.value import Value
from rewarm.ports import JsonObject
from rewarm.ports.artifacts import Artifacts
from rewarm.ports.instances import Instances
from rewarm.ports.restores import FIRST, LAST, RULE, RestoreTable
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.ports.volumes import VolumeStore
from rewarm.steps.adopt.candidates import Found, NamedRule, judged, of_match
from rewarm.steps.record.replacing import store
from rewarm.steps.record.restore import asked_through_api
from rewarm.steps.request.runbooks import written_by


def put_rule(
    name: str,
    body: JsonObject,
    *,
    by: Caller,
    table: RestoreTable,
    parts: Parts = EVERY_PART,
    replaces: str | None = None,
) -> JsonObject:
    """Stores the rule, which from now on looks at volumes that are made later.

    `replaces` is what steps/record/replacing.py takes. Raises InvalidRequestError, PartLeftOutError,
    AlreadyStoredError.
    """
    check_rule_name(name)
    rule = parse_rule(body, parts)
    entries, _ = table.listed(RULE, since=FIRST, until=LAST, after=None, limit=MOST_RULES)
    if len(entries) >= MOST_RULES and name not in {entry.name for entry in entries}:
        raise InvalidRequestError(
            f"found {MOST_RULES} other rules; at most {MOST_RULES} are allowed", field="name"
        )
    trigger = asked_through_api(by)
    what = f"another rule {shown(name)}"
    store(table, (RULE, name), rule, trigger=trigger, replaces=replaces, what=what)
    return get_rule(name, table)


def get_rule(name: str, table: RestoreTable) -> JsonObject:
    """Returns the stored rule. Raises RuleNotFoundError."""
    item = _item(name, table)
    return {
        "name": name,
        "rule": item["request"],
        "writtenBy": written_by(item),
        "updatedAt": item["startedAt"],
    }


def delete_rule(name: str, table: RestoreTable) -> JsonObject:
    """Deletes the rule; what it has begun continues. Raises RuleNotFoundError."""
    if not table.discard(RULE, name):
        raise _unknown(name)
    return {"name": name, "deleted": True}


def _item(name: str, table: RestoreTable) -> JsonObject:
    item = table.stored(RULE, name)
    if item is None:
        raise _unknown(name)
    return item


def _unknown(name: str) -> RuleNotFoundError:
    return RuleNotFoundError(
        f"there is no rule {shown(name)}; rewarm rule list shows those that are there", field="name"
    )


class CheckRulePorts(Value, kw_only=True):
    """The ports that check_rule needs."""

    table: RestoreTable
    volumes: VolumeStore
    instances: Instances
    snapshots: SnapshotCatalog
    artifacts: Artifacts


def check_rule(name: str, ports: CheckRulePorts) -> JsonObject:
    """What the rule fits in the Region now, whatever its age: requests by instance, and what is passed over.

    Raises RuleNotFoundError.
    """
    item = _item(name, ports.table)
    by = NamedRule(name, parse_rule(item["request"]), datetime.fromisoformat(item["startedAt"]))
    groups: dict[str, list[str]] = defaultdict(list)
    passed_over = []
    for found in judged(of_match(by.rule.match, ports), [by], ports):
        if not isinstance(found, Found):
            continue
        if found.state == "adopt":
            groups[found.instance_id].append(found.volume.volume_id)
        else:
            passed_over.append(PassedOverVolume(volume_id=found.volume.volume_id, reason=found.reason))
    adoptions = [
        FoundAdoption(
            instance_id=instance_id,
            volume_ids=some,
            request=by.rule.request(some).model_copy(update={"dry_run": False}),
        )
        for instance_id, names in sorted(groups.items())
        for some in (sorted(names)[at : at + MOST_LISTED] for at in range(0, len(names), MOST_LISTED))
    ]
    return RuleCheck(name=name, adoptions=adoptions, passed_over=passed_over).to_json()
