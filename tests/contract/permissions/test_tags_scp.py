"""The sample policy for accounts keeps others from setting Rewarm's tags, in any case of their letters."""

from __future__ import annotations

import json
import re

import pytest

from local.aws.permissions.authorizer import Authorizer
from local.aws.permissions.conditions import of_tags
from local.aws.permissions.policies import statements
from tests.contract import repository

POLICY = json.loads((repository.ROOT / "docs/policies/tags-scp.json").read_text(encoding="utf-8"))
EVERYTHING = {"Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}
MOST_CHARACTERS = 5_120
"""AWS Organizations user guide, "Quotas and service limits": the size of a service control policy."""
VOLUME = "arn:aws:ec2:us-east-1:123456789012:volume/vol-1"
SNAPSHOT = "arn:aws:ec2:us-east-1::snapshot/snap-1"
CONSENT = {
    "rewarm:drills", "rewarm:hook-versions", "rewarm:hooks", "rewarm:learn", "rewarm:lineage",
    "rewarm:managed",
}  # fmt: skip
"""Tags that people set."""


def used() -> set[str]:
    sources = (path.read_text(encoding="utf-8") for path in (repository.ROOT / "functions").rglob("*.py"))
    return {tag for source in sources for tag in re.findall(r'"(rewarm:[a-z-]+)"', source)}


OURS = sorted(used() - CONSENT)


def may(role: str, action: str, resource: str, *keys: str, held: dict[str, str] | None = None) -> bool:
    account = Authorizer({"caller": statements("account", EVERYTHING) + statements("scp", POLICY)})
    context = {
        "aws:principalarn": f"arn:aws:iam::123456789012:role/{role}",
        **of_tags("aws:requesttag", dict.fromkeys(keys, "rewarm")),
        **of_tags("aws:resourcetag", held or {}),
        **({"aws:tagkeys": keys} if keys else {}),
    }
    return account.authorize("caller", action, resource, context).allowed


def test_the_tests_know_every_tag() -> None:
    assert used() > CONSENT
    assert len(OURS) > 20
    assert len(json.dumps(POLICY, separators=(",", ":"))) < MOST_CHARACTERS


@pytest.mark.parametrize("spelled", [str, str.upper, str.title, str.swapcase])
@pytest.mark.parametrize("action", ["ec2:CreateTags", "ec2:DeleteTags"])
def test_nobody_else_sets_or_removes_a_tag_of_ours_in_any_case(action, spelled) -> None:
    """IAM takes `Rewarm:Stack` for `rewarm:stack` where a role's condition names a resource's tag."""
    allowed = [key for key in OURS if may("developer", action, VOLUME, "Name", spelled(key))]
    assert allowed == []
    assert [key for key in OURS if not may("rewarm-Sweep", action, VOLUME, spelled(key))] == []


@pytest.mark.parametrize("key", [*sorted(CONSENT), "Name", "rewarmed"])
def test_everybody_may_set_what_is_consent_and_tags_of_others(key: str) -> None:
    assert may("developer", "ec2:CreateTags", VOLUME, key)
    assert may("developer", "ec2:DeleteTags", SNAPSHOT, key)


@pytest.mark.parametrize("key", ["rewarm:stack", "Rewarm:Stack"])
def test_nobody_else_removes_all_tags_of_what_is_ours(key: str) -> None:
    assert not may("developer", "ec2:DeleteTags", VOLUME, held={key: "rewarm"})
    assert may("developer", "ec2:DeleteTags", VOLUME, held={"Name": "a"})
    assert may("rewarm-Sweep", "ec2:DeleteTags", VOLUME, held={key: "rewarm"})
