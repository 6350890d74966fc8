"""Ref of a secret in a template is its ARN.

Why: the emulator's CloudFormation gives the name. AWS gives the ARN (AWS documentation,
AWS::SecretsManager::Secret, "Return values"), and a policy that names the secret by Ref depends on it.
"""

from __future__ import annotations

from typing import Any

from local.aws.emulator import seam

_KIND = "AWS::SecretsManager::Secret"


def apply() -> None:
    """Mend the emulator's CloudFormation."""
    provisioners = seam.module("services.cloudformation.provisioners")
    secrets = seam.module("services.secretsmanager")
    create = seam.known(provisioners, "_sm_secret_create", 'return name, {"Id": arn, "Arn": arn}')
    update = seam.known(provisioners, "_sm_secret_update", 'return physical_id, {"Id": secret["ARN"]')
    delete = seam.known(provisioners, "_sm_secret_delete", "_sm._secrets.get(physical_id)")

    def name_of(arn: str) -> str:
        return next((name for name, one in secrets._secrets.items() if one["ARN"] == arn), arn)

    def by_arn(made: tuple[str, dict[str, Any]]) -> tuple[str, dict[str, Any]]:
        return made[1]["Arn"], made[1]

    def create_one(*arguments: Any) -> tuple[str, dict[str, Any]]:
        return by_arn(create(*arguments))

    def update_one(arn: str, *arguments: Any, **options: Any) -> tuple[str, dict[str, Any]]:
        return by_arn(update(name_of(arn), *arguments, **options))

    def delete_one(arn: str, props: dict[str, Any]) -> None:
        delete(name_of(arn), props)

    handlers = provisioners._RESOURCE_HANDLERS[_KIND]
    for action, mended in (("create", create_one), ("update", update_one), ("delete", delete_one)):
        seam.add_entry(handlers, action, mended)
