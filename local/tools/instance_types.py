"""Writes instance_types.json: what each EC2 instance type can do with EBS, for plans without AWS.

The library moto carries AWS's answer to DescribeInstanceTypes. A plan needs a few fields of it, and
`make plan` installs no moto.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Json = dict[str, Any]
TABLE = Path(__file__).with_suffix(".json")
_LIMITS = (
    "EbsCardIndex", "BaselineIops", "BaselineThroughputInMBps", "MaximumIops", "MaximumThroughputInMBps",
)  # fmt: skip
"""Of EbsOptimizedInfo and of each of EbsCards (botocore): what the adapter Ec2Instances reads."""


@cache
def instance_types() -> Mapping[str, Json]:
    """Returns the EbsInfo (botocore) of each type by its name, with the fields that a plan needs."""
    known: dict[str, Json] = json.loads(TABLE.read_text(encoding="utf-8"))
    return known


def text() -> str:
    """Returns the table, a line for each type."""
    lines = [
        f"{json.dumps(name)}:{_line(facts['EbsInfo'])}" for name, facts in sorted(described_by_moto().items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def described_by_moto() -> dict[str, Json]:
    """Returns InstanceTypeInfo (botocore) of each type by its name, from the installed moto."""
    moto = find_spec("moto")  # its file alone; moto.ec2 takes a second to load
    assert moto is not None
    assert moto.origin is not None
    packed = Path(moto.origin).parent / "ec2" / "resources" / "instance_types.json.gz"
    known: dict[str, Json] = json.loads(gzip.decompress(packed.read_bytes()))
    return known


def _line(ebs: Json) -> str:
    kept: Json = {"NvmeSupport": ebs["NvmeSupport"]}
    if "EbsOptimizedInfo" in ebs:
        kept["EbsOptimizedInfo"] = _limits(ebs["EbsOptimizedInfo"])
    if "EbsCards" in ebs:
        kept["EbsCards"] = [_limits(card) for card in ebs["EbsCards"]]
    return json.dumps(kept, separators=(",", ":"))


def _limits(found: Json) -> Json:
    return {name: found[name] for name in _LIMITS if name in found}


if __name__ == "__main__":
    TABLE.write_text(text(), encoding="utf-8")
