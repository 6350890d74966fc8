"""What rules say of a thing and of the circumstances: made by this stack, asked by EC2, no other tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from local.soak.lab.template import ACCOUNT, REGION, STACK
from tests.contract.permissions.attempts import SINGLE_ATTRIBUTES, Attempt

Where = Callable[[Attempt], bool]


@dataclass(frozen=True, slots=True)
class Rule:
    """Each of `who` may do each of `actions` where all of `where` holds."""

    who: frozenset[str]
    actions: frozenset[str]
    where: tuple[Where, ...]

    def covers(self, attempt: Attempt) -> bool:
        """Whether the thing and the circumstances are those of the rule."""
        return all(holds(attempt) for holds in self.where)


def rule(who: str, actions: str, *where: Where) -> Rule:
    """`ec2: DeleteVolume DetachVolume` names two actions of a service."""
    service, _, names = actions.partition(": ")
    return Rule(frozenset(who.split()), frozenset(f"{service}:{name}" for name in names.split()), where)


def on(*kinds: str) -> Where:
    """The thing is of this kind, and ours where its kind is one that others have too."""
    return lambda attempt: attempt.thing.kind in kinds


def either(*choices: Where) -> Where:
    """One of them holds."""
    return lambda attempt: any(holds(attempt) for holds in choices)


def made(attempt: Attempt) -> bool:
    """The call that made it has tagged it as this stack's."""
    return attempt.tag("stack") == STACK and bool(attempt.tag("creation"))


def made_for_a_drill(attempt: Attempt) -> bool:
    """And as a drill's."""
    return made(attempt) and attempt.tag("drill") == "true"


def carries(name: str) -> Where:
    """It has this tag, with any value."""
    return lambda attempt: bool(attempt.tag(name))


def marked(name: str) -> Where:
    """This stack has marked it."""
    return lambda attempt: attempt.tag(f"{name}-by-stack") == STACK


def marks(name: str) -> Where:
    """The request marks it with this stack's name."""
    return lambda attempt: attempt.asked(f"{name}-by-stack") == STACK


def consents(name: str) -> Where:
    """Its owner has said that this is allowed."""
    return lambda attempt: attempt.tag(name) == "true"


def belongs_to(name: str) -> Where:
    """Its owner has given it to this stack."""
    return lambda attempt: attempt.tag(name) == STACK


def only_keys(*keys: str) -> Where:
    """The request names tags, and no others than these."""
    return lambda attempt: bool(attempt.keys) and set(attempt.keys) <= set(keys)


def says_who_makes_it(attempt: Attempt) -> bool:
    """The request to make it gives both tags of this stack."""
    return attempt.asked("stack") == STACK and bool(attempt.asked("creation"))


def while_making(*actions: str) -> Where:
    """The tags come with the call that makes the thing."""
    return lambda attempt: attempt.context.get("ec2:createaction") in actions


def through_ec2(attempt: Attempt) -> bool:
    """EC2 of this Region asks KMS, in the role's name."""
    return attempt.context.get("kms:viaservice") == f"ec2.{REGION}.amazonaws.com"


def through_any_ec2(attempt: Attempt) -> bool:
    """EC2 of any Region."""
    return str(attempt.context.get("kms:viaservice")).startswith("ec2.")


def for_aws(attempt: Attempt) -> bool:
    """The grant is for a service of AWS."""
    return attempt.context.get("kms:grantisforawsresource") == "true"


def no_named_attribute(attempt: Attempt) -> bool:
    """User data runs as root at the next boot; only DeleteOnTermination of a volume is to change."""
    return attempt.context.get("ec2:attribute") not in SINGLE_ATTRIBUTES


def items(*kinds: str) -> Where:
    """Items of these kinds in the table of restores; all without a kind."""
    return lambda attempt: (
        attempt.thing.kind == "RestoresTable"
        and (
            not kinds
            or {key.partition("#")[0] for key in attempt.context["dynamodb:leadingkeys"]} <= set(kinds)
        )
    )


def objects(*patterns: str) -> Where:
    """Objects of the bucket with such keys."""
    return lambda attempt: (
        attempt.thing.kind == "object"
        and any(fnmatchcase(attempt.thing.arn.partition("/")[2], pattern) for pattern in patterns)
    )


def called_by(source: str) -> Where:
    """The API, and perhaps its stage, that calls."""
    return lambda attempt: f":{STACK}-{source}" in str(attempt.context["aws:sourcearn"])


def of_this_account(attempt: Attempt) -> bool:
    """The service acts for this account."""
    return attempt.context.get("aws:sourceaccount") == ACCOUNT


def a_document(attempt: Attempt) -> bool:
    """Any document of this account and Region, whoever wrote it."""
    return attempt.thing.arn.startswith(f"arn:aws:ssm:{REGION}:{ACCOUNT}:document/")


NOTHING, KEY, ANY_KEY = on("everything"), on("key"), on("key", "key elsewhere")
VOLUME, INSTANCE, SNAPSHOT = on("volume"), on("instance"), on("snapshot")
ANY_SNAPSHOT = on("snapshot", "others' snapshot")
