"""template.yaml is what CloudFormation and SAM accept, and `sam build` makes what is deployed of it."""

from __future__ import annotations

import pytest

from tests.support.tree import BIN, ROOT, complaints

SAM = ROOT / ".venv-sam" / "bin" / "sam"
QUIET = {"SAM_CLI_TELEMETRY": "0"}


def test_cfn_lint():
    assert complaints([BIN / "cfn-lint", "template.yaml"]) == ""


@pytest.mark.slow
def test_sam_validate():
    assert complaints([SAM, "validate", "--lint"], **QUIET) == ""


@pytest.mark.slow
def test_sam_build(tmp_path):
    """The dependencies layer holds wheels for Lambda's Python and processor, whatever machine builds it."""
    build = tmp_path / "build"
    assert complaints([SAM, "build", "--build-dir", build, "--base-dir", ROOT], **QUIET) == ""
    packages = build / "DependenciesLayer" / "python"
    assert (packages / "aws_lambda_powertools").is_dir()
    compiled = [path.name for path in packages.rglob("*.so")]
    assert compiled
    assert all("cpython-313-aarch64" in name or "abi3" in name for name in compiled), compiled
    built = (build / "template.yaml").read_text(encoding="utf-8")
    assert "CodeUri: functions/" not in built, (
        "sam leaves a CodeUri in Globals as it is, so it would upload nothing"
    )
