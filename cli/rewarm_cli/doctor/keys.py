"""The KMS keys of a snapshot and of a volume: without its key, a volume is never created."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rewarm_cli import words
from rewarm_cli.doctor import snapshots
from rewarm_cli.doctor.account import Account, NoAnswerError
from rewarm_cli.doctor.findings import OK, Finding, ok, problem, unknown
from rewarm_cli.doctor.simulation import Need, simulated

Json = dict[str, Any]

USABLE = {"Enabled", "Updating"}
"""KMS developer guide, "Key states of AWS KMS keys"."""
ROLE = "CreateVolumeFunctionRole"
ACTIONS = ("kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncryptFrom")
"""EBS user guide, "Requirements for Amazon EBS encryption"; CreateGrant has its own condition."""


def keys(account: Account) -> Iterator[Finding]:
    """The keys of the snapshot, of the volume's newest usable snapshot, and of the volume."""
    sources = [(name, found) for name, found in _sources(account) if found is not None]
    plain = [name for name, found in sources if not found.get("Encrypted")]
    if plain:
        yield ok("encryption", f"{' and '.join(plain)}: not encrypted, so no key is needed")
    names: dict[str, list[str]] = {}
    for name, found in sources:
        if found.get("Encrypted"):
            names.setdefault(found.get("KmsKeyId", "alias/aws/ebs"), []).append(name)
    for key_id, encrypted in names.items():
        yield from _key(account, key_id, " and ".join(encrypted))


def _sources(account: Account) -> Iterator[tuple[str, Json | None]]:
    wanted = account.wanted
    if wanted.snapshot:
        try:
            yield wanted.snapshot, snapshots.described(account, wanted.snapshot)
        except NoAnswerError as error:
            if not error.is_missing:
                raise
    if wanted.volume:
        newest = snapshots.newest_usable(account, wanted.volume)
        if newest is not None and newest["SnapshotId"] != wanted.snapshot:
            yield newest["SnapshotId"], newest
        yield wanted.volume, snapshots.described_volume(account, wanted.volume)


def _key(account: Account, key_id: str, encrypted: str) -> Iterator[Finding]:
    try:
        key = account.ask("kms", "DescribeKey", KeyId=key_id)["KeyMetadata"]
    except NoAnswerError as error:
        if error.is_missing:
            yield problem(
                "key", f"{key_id} of {encrypted} does not exist", "take a snapshot with another key"
            )
        else:
            todo = "let the key's policy allow this account's functions kms:DescribeKey, or: " + error.todo
            yield unknown("key", f"{key_id} of {encrypted}: {error}", todo)
        return
    yield _state(key, encrypted)
    if key.get("KeyManager") == "AWS":
        # EBS user guide, "How Amazon EBS encryption works": everybody who may use EBS may use this key.
        yield ok("use of the key", "AWS manages it for EBS, so that whoever may use EBS may use it")
    else:
        yield _use(account, key["Arn"])


def _state(key: Json, encrypted: str) -> Finding:
    key_id = key["KeyId"]
    state = key.get("KeyState", "unknown")
    found = f"{encrypted}: {key['Arn']} is {state}"
    if state in USABLE:
        return ok("key", found)
    if state == "Disabled":
        return problem("key", found, words.aws("kms", "enable-key", "--key-id", key_id))
    if state == "PendingDeletion":
        when = words.clock(key["DeletionDate"].isoformat()) if key.get("DeletionDate") else "an unknown time"
        keep = words.aws("kms", "cancel-key-deletion", "--key-id", key_id)
        todo = f"{keep}, then enable it; afterwards the data is lost"
        return problem("key", f"{found}, and is deleted at {when}", todo)
    return problem("key", found, "see the key in KMS: a volume made with it would never come")


def _use(account: Account, key_arn: str) -> Finding:
    """Simulates the use of the key; the simulator ignores the key's own policy for a role."""
    role = account.stack.resources.get(ROLE)
    if role is None:
        return unknown("use of the key", "the stack's role is not known", "find the stack first")
    via = {"kms:ViaService": f"ec2.{account.region}.{account.domain}"}
    needs = [
        Need(ACTIONS, key_arn, via),
        Need(("kms:CreateGrant",), key_arn, via | {"kms:GrantIsForAWSResource": "true"}),
    ]
    arn = account.arn("iam", f"role/{role}", region=False)
    finding = simulated(account, arn, "use of the key", needs, "make deploy again, and see the key's policy")
    if finding.status != OK:
        return finding
    owner = key_arn.split(":")[4]
    more = f"; account {owner} must also allow it in the key's policy" if owner != account.account_id else ""
    found = "the stack's role may use it by its own policies; the key's own was not simulated"
    return ok("use of the key", found + more)
