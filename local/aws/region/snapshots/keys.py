"""KMS keys as far as EBS uses them: DescribeKey (botocore kms; KMS developer guide, "Key states")."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, optional_stamp, stamp
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation
from local.aws.region.resources import Key
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_requests import key_arn

USED_FOR = "ENCRYPT_DECRYPT"


class Keys:
    """Keys that were put into the Region, and those that its snapshots name."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables
        self._since = core.now()

    @operation("kms", "DescribeKey")
    def describe_key(self, params: Json) -> Json:
        """One key by id, ARN or alias."""
        arn = key_arn(params["KeyId"], self._core)
        key = self._tables.keys.get(arn) or self._ordinary(arn)
        if key is None:
            raise ApiError("NotFoundException", f"Key '{arn}' does not exist")
        if not key.allowed:
            message = f"User is not authorized to perform: kms:DescribeKey on resource: {arn}"
            raise ApiError("AccessDeniedException", message)
        return {"KeyMetadata": self._describe(key)}

    def _ordinary(self, arn: str) -> Key | None:
        """The account's own default key, and keys that a snapshot is encrypted with."""
        named = {snapshot.kms_key_id for snapshot in self._tables.snapshots.values() if snapshot.kms_key_id}
        arns = {key_arn(name, self._core) for name in (*named, "alias/aws/ebs")}
        return Key(arn) if arn in arns else None

    def _describe(self, key: Key) -> Json:
        return {
            "AWSAccountId": self._core.settings.account_id,
            "KeyId": key.arn.rpartition("/")[2],
            "Arn": key.arn,
            "CreationDate": stamp(self._since),
            "Enabled": key.state == "Enabled",
            "KeyState": key.state,
            "KeyUsage": USED_FOR,
            "DeletionDate": optional_stamp(key.deletion_date),
            "Origin": "AWS_KMS",
            "KeyManager": "CUSTOMER",
        }
