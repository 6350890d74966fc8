"""The Terraform module has what the template has (local/tools/release/terraform.py, terraform/)."""

from __future__ import annotations

import re

import pytest

from local import ROOT
from local.tools.release import terraform
from tests.support.commands import terraform as hcl

FOLDER = ROOT / "terraform"


def parsed(name):
    return hcl.parsed((FOLDER / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def variables():
    return {name: one for block in parsed("variables.tf")["variable"] for name, one in block.items()}


def test_the_written_files_are_current():
    for name, text in terraform.made().items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, "make terraform writes it"


@pytest.mark.parametrize("name", [name for name in terraform.FILES if name.endswith(".tf")])
def test_each_file_is_hcl(name):
    assert parsed(name)


def test_each_parameter_is_a_variable_with_description_type_and_default(package, variables):
    for name, parameter in package.template["Parameters"].items():
        variable = variables[terraform.variable_name(name)]
        assert variable["type"] == {"String": "string", "Number": "number"}[parameter["Type"]]
        assert len(variable["description"]) > 20
        assert variable.get("default") == parameter.get("Default")
        assert bool(variable.get("sensitive")) is bool(parameter.get("NoEcho"))
        limits = {"AllowedValues", "MinValue", "MaxLength", "AllowedPattern"} & set(parameter)
        assert len(variable.get("validation", [])) == len(limits)
    assert len(variables) == len(package.template["Parameters"])


def test_each_variable_is_handed_to_the_stack(package):
    (handed,) = (one["parameters"] for one in parsed("parameters.tf")["locals"])
    assert set(handed) == set(package.template["Parameters"])
    assert all(terraform.variable_name(name) in value for name, value in handed.items())


def test_each_output_of_the_stack_is_one_of_the_module(package):
    shown = [name for block in parsed("outputs.tf")["output"] for name in block]
    assert shown == [terraform.variable_name(name) for name in package.template["Outputs"]]


def test_an_output_that_a_stack_may_lack_is_null_without_it(package):
    """Terraform refuses a map's key that is not there (its documentation, "lookup")."""
    shown = {name: one["value"] for block in parsed("outputs.tf")["output"] for name, one in block.items()}
    for name, output in package.template["Outputs"].items():
        assert ("lookup(" in shown[terraform.variable_name(name)]) is ("Condition" in output), name


def test_the_stack_is_the_packaged_template():
    (block,) = parsed("main.tf")["resource"]
    stack = block["aws_cloudformation_stack"]["rewarm"]
    assert stack["capabilities"] == ["CAPABILITY_IAM"]
    assert stack["template_url"].endswith("${var.code_prefix}rewarm-${local.release}.yaml")


def test_the_example_names_variables_that_exist(variables):
    known = {*variables, "source", "providers", "stack_name", "tags"}
    used = [one for block in parsed("examples/several-regions/main.tf")["module"] for one in block.values()]
    assert len(used) == 2
    assert {name for one in used for name in one} <= known


@pytest.mark.parametrize(
    ("prefix", "allowed"),
    [
        ("rewarm-", True),
        ("orders.db_", True),
        ("operational-", True),
        ("operations-of-x", False),
        ("operations", False),
        ("-x", False),
    ],
)
def test_a_pattern_that_forbids_a_beginning_is_two_conditions(package, prefix, allowed):
    """Terraform's regular expressions (RE2) have no lookahead."""
    pattern = package.template["Parameters"]["AlarmNamePrefix"]["AllowedPattern"]
    condition = terraform._matches("v", pattern)
    assert "(?!" not in condition
    right, wrong = re.fullmatch(
        r'can\(regex\("(.*)", v\)\) && !can\(regex\("(.*)", v\)\)', condition
    ).groups()
    assert (bool(re.search(right, prefix)) and not re.search(wrong, prefix)) is allowed
    assert bool(re.fullmatch(pattern, prefix)) is allowed
