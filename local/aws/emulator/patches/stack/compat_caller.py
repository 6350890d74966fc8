"""Who signed a request is who the emulator names: in GetCallerIdentity, and in API Gateway's events.

Why: the front checks the signature and hands the request on as the account's own, because the emulator checks
none. AWS names whoever signed (STS API reference, GetCallerIdentity; API Gateway developer guide, "Variables
for data transformations": `$context.identity.userArn`, `caller` and `user`).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from local.aws.emulator import seam

SIGNED_BY: ContextVar[tuple[str, str] | None] = ContextVar("signed_by", default=None)
"""Access key id and ARN of who signed the request that is being answered."""


def apply() -> None:
    """Mend the emulator's notion of who calls."""
    evaluator = seam.module("core.iam_evaluator")
    known = seam.known(evaluator, "resolve_caller_identity", '"userArn"', '"userId"', '"session"')

    def resolve(access_key_id: str) -> dict[str, Any] | None:
        signer = SIGNED_BY.get()
        if signer is None:
            found: dict[str, Any] | None = known(access_key_id)
            return found
        key_id, arn = signer
        account = arn.split(":")[4]
        named = {"accessKey": key_id, "accountId": account, "userArn": arn, "userId": _id(arn, account)}
        return {**named, "principalOrgId": None, "session": None}

    resolve.__wrapped__ = known  # type: ignore[attr-defined]
    seam.replace(evaluator, "resolve_caller_identity", resolve)


def _id(arn: str, account: str) -> str:
    """IAM user guide, "Unique identifiers": of a role's session that of the role, and the session's name."""
    iam = seam.module("services.iam")
    kind, _, name = arn.rpartition(":")[2].partition("/")
    if kind == "assumed-role":
        role, _, session = name.partition("/")
        return f"{(iam._roles.get_scoped(account, None, role) or {}).get('RoleId', '')}:{session}"
    if kind == "user":
        user = iam._users.get_scoped(account, None, name.rpartition("/")[2]) or {}
        return str(user.get("UserId", ""))
    return account
