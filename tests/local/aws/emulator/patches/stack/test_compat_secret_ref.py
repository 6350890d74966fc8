"""Ref of a secret is its ARN (compat_secret_ref.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local.aws.emulator.deploy import Source, deploy

if TYPE_CHECKING:
    from pathlib import Path

    from local.aws.host import Host

TEMPLATE = """
Resources: {{Secret: {{Type: AWS::SecretsManager::Secret, Properties: {{SecretString: {text}}}}}}}
Outputs: {{Secret: {{Value: !Ref Secret}}}}
"""


def test_a_template_s_secret_is_known_by_its_arn(host: Host, tmp_path: Path) -> None:
    secrets = host.client("secretsmanager")
    arns = []
    for text in ("first", "second"):
        (tmp_path / "template.yaml").write_text(TEMPLATE.format(text=text), encoding="utf-8")
        arns.append(deploy(host.client, Source(tmp_path, tmp_path / "agent"), "secret")["Secret"])
        assert secrets.get_secret_value(SecretId=arns[-1])["SecretString"] == text
    assert arns[0] == arns[1]
    assert arns[0].startswith(f"arn:{host.addresses.partition}:secretsmanager:{host.addresses.region}:")
