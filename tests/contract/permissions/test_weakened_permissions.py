"""The rules notice a statement that is missing, and one that is weaker than it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from random import Random

import pytest

from local.aws.permissions.policies import Statement
from local.soak.lab.template import stack
from local.soak.trouble.permissions.permission_use import written
from tests.contract.permissions.judgement import excesses, expanded, given, lacks, of_the_template, short
from tests.contract.permissions.weakened import weakenings

POLICIES = of_the_template(stack().policies)
HOLDERS = written(POLICIES)
"""Statement -> who has it."""
DRAWS, SEED = 60, 20
SHARE = 19 / 20
UNNOTICED = {
    r"\S+ \d+ on (\*|arn:aws:(ec2|kms):\S*:\*)":
        "AWS knows no further kind of resource for these actions, so the wider name reaches nothing more.",
    r"\S+ \d+ much of kms:ViaService":
        "AWS itself says which service asks for a key, and no other service's name begins so.",
    r"\S+ \d+ much of ec2:CreateAction":
        "EC2 itself says which action makes a snapshot, and no other action's name begins so.",
    r"\S+ \d+ with \S+":
        "The role has this action already on what the statement names, or AWS knows no such resource for it.",
}  # fmt: skip
"""What no call to AWS could show, by what was done -> the reason."""


def noticed(source: str, weaker: Statement) -> str | None:
    """What the rules say of whoever has the weaker statement in the place of its own."""
    for principal, _ in HOLDERS[source]:
        held = [weaker if one.source == source else one for one in POLICIES[principal]]
        said = next(excesses(principal, held, expanded(weaker.actions)), None)
        if said:
            return said
    return None


def missed(source: str) -> str | None:
    """What the rules say of whoever has the statement no longer."""
    for principal, statement in HOLDERS[source]:
        held = [one for one in POLICIES[principal] if one.source != source]
        actions = expanded(statement.actions) & given(short(principal))
        said = next(chain(lacks(principal, held, actions), excesses(principal, held, actions)), None)
        if said:
            return said
    return None


def drawn(draws: int, random: Random) -> Iterator[tuple[str, str, Statement]]:
    """(statement, what was done, the weaker one), each statement and each way as likely as any other."""
    sources = sorted(HOLDERS)
    for _ in range(draws):
        source = random.choice(sources)
        said, weaker = random.choice(list(weakenings(HOLDERS[source][0][1], random)))
        yield source, said, weaker


def judged(cases: Iterator[tuple[str, str, Statement]]) -> tuple[int, list[str]]:
    """How many there were, and those that nobody noticed."""
    answers = [(f"{source} {said}", noticed(source, weaker)) for source, said, weaker in cases]
    return len(answers), [what for what, said in answers if said is None]


def unexplained(unnoticed: list[str]) -> list[str]:
    """Those without a reason."""
    return [what for what in unnoticed if not any(re.fullmatch(pattern, what) for pattern in UNNOTICED)]


def test_each_statement_that_is_taken_out_is_missed() -> None:
    assert [source for source in HOLDERS if missed(source) is None] == []


def test_weakened_statements_are_noticed() -> None:
    count, unnoticed = judged(drawn(DRAWS, Random(SEED)))
    assert count - len(unnoticed) >= SHARE * count, unnoticed
    assert unexplained(unnoticed) == []


@pytest.mark.long
def test_every_weakening_of_every_statement_is_noticed_or_has_a_reason() -> None:
    random = Random(SEED)
    count, unnoticed = judged(
        (source, said, weaker)
        for source, holders in HOLDERS.items()
        for said, weaker in weakenings(holders[0][1], random)
    )
    assert count > 2_000
    assert count - len(unnoticed) >= SHARE * count, unnoticed
    assert unexplained(unnoticed) == []


@pytest.mark.parametrize(
    ("role", "action", "changes", "said"),
    [
        ("Api", "s3:PutObject", {"resources": ("arn:aws:s3:::rewarm-artifactsbucket/*",)},
         "Api may s3:PutObject on object arn:aws:s3:::rewarm-artifactsbucket/agents/sha256/warmer"),
        ("Release", "ec2:DeleteSnapshot", {"conditions": ()}, "may ec2:DeleteSnapshot on snapshot"),
        ("Sweep", "ec2:DeleteVolume", {"conditions": ()}, "may ec2:DeleteVolume on volume"),
        ("Rewind", "ssm:SendCommand", {"resources": ("*",)}, "Rewind may ssm:SendCommand on"),
        ("Public", "dynamodb:GetItem", {"actions": ("dynamodb:Scan",)},
         "Public has dynamodb:Scan, which no rule gives it"),
    ],
)  # fmt: skip
def test_what_is_said_names_who_could_do_what(
    role: str, action: str, changes: dict[str, tuple[str, ...]], said: str
) -> None:
    held = POLICIES[f"{role}FunctionRole"]
    statement = next(one for one in held if action in one.actions)
    assert said in str(noticed(statement.source, replace(statement, **changes)))  # type: ignore[arg-type]
