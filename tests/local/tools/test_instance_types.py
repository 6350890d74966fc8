"""The table of instance types is what moto carries of AWS's answer, and a plan needs no more of it."""

from __future__ import annotations

from typing import Any, cast

from local.tools.instance_types import TABLE, described_by_moto, instance_types, text
from local.tools.plan.offline import InstanceTypes
from rewarm.adapters.instances import Ec2Instances


class Moto:
    """DescribeInstanceTypes with all that moto knows."""

    def __init__(self) -> None:
        self._known = described_by_moto()

    def describe_instance_types(self, InstanceTypes: list[str]) -> dict[str, Any]:  # noqa: N803
        return {"InstanceTypes": [self._known[name] for name in InstanceTypes]}


def test_the_table_is_what_make_models_writes() -> None:
    assert TABLE.read_text(encoding="utf-8") == text()


def test_each_type_has_the_limits_that_it_has_with_all_of_aws_s_answer() -> None:
    whole = Ec2Instances(cast("Any", Moto()), cast("Any", None))
    table = InstanceTypes()
    assert len(instance_types()) > 1_000
    assert [name for name in instance_types() if table.ebs_limits(name) != whole.ebs_limits(name)] == []
    assert set(instance_types()) == set(described_by_moto())
