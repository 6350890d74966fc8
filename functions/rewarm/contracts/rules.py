"""AdoptionRule: which new volumes are adopted by themselves, how, and how many; what its routes answer."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictInt

from rewarm.contracts.base import Contract, Instant, Usd, parsed
from rewarm.contracts.parsing import parse_restore_request
from rewarm.contracts.request import (
    MOST_LISTED,
    AttachmentMinutes,
    CostLimit,
    Notify,
    Objective,
    RestoreNotify,
    RestoreRequest,
    Source,
    Tags,
    Verify,
    VolumeId,
    WarmUp,
    given,
)
from rewarm.domain.errors import InvalidRequestError
from rewarm.domain.model import Caller
from rewarm.domain.parts import EVERY_PART, Parts
from rewarm.domain.units import shown

RULE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
MOST_RULES = 50
"""Each look reads all of them."""
TAG_CRITERIA = ("volumeTags", "instanceTags", "snapshotTags")
_ANY_ID = "vol-0123456789abcdef0"
MatchTags = Annotated[Tags, Field(max_length=20)]
SizeGib = Annotated[StrictInt, Field(ge=1, le=65_536)]


class RuleMatch(Contract):
    """Which new volumes: all of these must fit. At least one criterion is a tag."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [given(name, minProperties=1) for name in TAG_CRITERIA]}
    )

    volume_tags: MatchTags = Field(
        default_factory=dict, description="The volume carries every one of these; * stands for any value."
    )
    instance_tags: MatchTags = Field(
        default_factory=dict, description="The instance that has the volume does."
    )
    snapshot_tags: MatchTags = Field(
        default_factory=dict, description="The snapshot that the volume was made of does."
    )
    size_gib_from: SizeGib | None = Field(default=None, description="The least size of the volume.")
    size_gib_to: SizeGib | None = Field(default=None, description="The greatest size of the volume.")
    volume_types: Annotated[
        list[Literal["gp3", "gp2", "io2", "io1", "st1", "sc1"]],
        Field(max_length=6, description="Empty: of any type that can be adopted."),
    ] = []


class RuleLimits(Contract):
    """What keeps a rule from running away. What it may not adopt yet waits, for a day at most."""

    max_usd_per_volume: CostLimit = Field(
        default=Decimal("0.01"), description="A volume whose adoption may cost more is refused."
    )
    max_usd_per_day: CostLimit = Field(
        default=Decimal(1), description="Of all that the rule adopts on a day of UTC."
    )
    max_volumes_per_day: Annotated[StrictInt, Field(ge=1, le=100_000)] = Field(
        default=1_000, description="The same in volumes."
    )
    max_at_once: Annotated[StrictInt, Field(ge=1, le=1_000)] = Field(
        default=40,
        description="Volumes that are adopted at once in the Region; those of other rules count, and every "
        "restore that runs counts as one.",
    )
    max_at_once_per_instance: Annotated[StrictInt, Field(ge=1, le=MOST_LISTED)] = Field(
        default=8, description="The same for one instance, where volumes of restores count."
    )
    wait_for_attachment_minutes: AttachmentMinutes = Field(
        default=60,
        description="So long after its creation a volume may be attached, and its instance be online in "
        "Systems Manager.",
    )


class AdoptionRule(Contract):
    """Which new volumes are brought to full speed by themselves."""

    match: RuleMatch = Field(description="Which new volumes.")
    mode: Literal["observe", "act"] = Field(
        default="observe",
        description="observe: the rule only plans what it would adopt, and says what that would cost.",
    )
    objective: Objective = Field(default_factory=Objective)
    warm_up: WarmUp = Field(default_factory=WarmUp)
    verify: Verify = Field(default_factory=Verify)
    notify: Notify = Field(default_factory=Notify, description="Who gets the rule's message, once an hour.")
    limits: RuleLimits = Field(default_factory=RuleLimits, description="How many, and for how much.")

    def request(self, volume_ids: Sequence[str]) -> RestoreRequest:
        """The request that adopts these volumes; people get the rule's message instead of its messages."""
        usd = self.limits.max_usd_per_volume * len(volume_ids)
        return RestoreRequest(
            source=Source.model_validate({"existing": {"volumeIds": list(volume_ids)}}),
            objective=self.objective.model_copy(update={"max_cost_usd": usd}),
            warm_up=self.warm_up,
            verify=self.verify,
            notify=RestoreNotify(slack=False, email=False),
            dry_run=self.mode == "observe",
        )


def parse_rule(value: object, parts: Parts = EVERY_PART) -> AdoptionRule:
    """Returns the checked rule. Raises InvalidRequestError, PartLeftOutError."""
    rule = parsed(AdoptionRule, value)
    match = rule.match
    objective = rule.objective
    if not (match.volume_tags or match.instance_tags or match.snapshot_tags):
        raise InvalidRequestError(
            f"found no tag; at least one of {', '.join(TAG_CRITERIA)} is needed, so that a rule is about "
            "somebody's volumes and not about all",
            field="match",
        )
    if match.size_gib_from and match.size_gib_to and match.size_gib_from > match.size_gib_to:
        raise InvalidRequestError(
            f"found {match.size_gib_to}; allowed is sizeGibFrom ({match.size_gib_from}), or more",
            field="match.sizeGibTo",
        )
    refused = {
        "objective.maxCostUsd": (objective.max_cost_usd, "limits.maxUsdPerVolume and maxUsdPerDay say it"),
        "objective.approveAboveUsd": (objective.approve_above_usd, "nobody is asked for each volume"),
        "warmUp.first": (rule.warm_up.first or None, "it names blocks of one volume"),
    }
    for field, (found, why) in refused.items():
        if found is not None:
            raise InvalidRequestError(f"does not go with a rule: {why}", field=field)
    parse_restore_request(rule.request([_ANY_ID]).model_dump(by_alias=True), parts)
    return rule


def check_rule_name(name: str) -> None:
    """Raises InvalidRequestError."""
    if re.fullmatch(RULE_NAME, name) is None:
        raise InvalidRequestError(
            f"found {shown(name)}; allowed are 1 to 64 letters, digits and . _ -, the first no mark",
            field="name",
        )


class StoredRule(Contract):
    """GET and PUT /rules/{name}, and an entry of a list."""

    name: str
    rule: AdoptionRule
    written_by: Caller | None = Field(description="Who put it last.")
    updated_at: Instant = Field(description="Volumes that are older are left alone.")


class DeletedRule(Contract):
    """DELETE /rules/{name}."""

    name: str
    deleted: Literal[True]


class RuleList(Contract):
    """GET /rules: the latest written first."""

    rules: list[StoredRule]
    next_token: str | None


class FoundAdoption(Contract):
    """Volumes of one instance that the rule fits."""

    instance_id: str
    volume_ids: list[VolumeId]
    request: RestoreRequest = Field(description="What adopts them; POST /plans says time and price.")


class PassedOverVolume(Contract):
    """A volume that the rule fits and does not adopt."""

    volume_id: VolumeId
    reason: str


class RuleCheck(Contract):
    """GET /rules/{name}/check: what the rule fits now, whatever its age."""

    name: str
    adoptions: list[FoundAdoption]
    passed_over: list[PassedOverVolume]


class BegunAdoption(Contract):
    """An adoption that a rule has begun and that is not known to have ended."""

    rule: str
    observes: bool
    instance_id: str
    volume_ids: list[str]
    usd: Usd = Field(description="The most that it may cost, which is held back from the rule's day.")
    at: Instant


class RuleDay(Contract):
    """What a rule has used of a day of UTC."""

    day: str
    usd: Usd = Decimal(0)
    volumes: int = 0


class RuleNews(Contract):
    """What the rule's next message says; counts are volumes."""

    since: Instant
    observes: bool
    begun: int = 0
    ready: int = 0
    usd: Usd = Decimal(0)
    failed: dict[str, int] = Field(default_factory=dict)
    refused: dict[str, int] = Field(default_factory=dict)
    put_off: dict[str, int] = Field(default_factory=dict)


class AdoptionLedger(Contract):
    """What all rules do at the moment, by the ids of restores and the names of rules."""

    begun: dict[str, BegunAdoption] = Field(default_factory=dict)
    days: dict[str, RuleDay] = Field(default_factory=dict)
    news: dict[str, RuleNews] = Field(default_factory=dict)
