"""The variables and outputs of the Terraform module, from the template: `make terraform` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from local import ROOT, Json
from local.tools.release.template import package

FOLDER = "terraform"
GENERATED = ("parameters.tf", "variables.tf", "outputs.tf")
FILES = (
    "README.md", "examples/several-regions/main.tf", "main.tf", "outputs.tf", "parameters.tf", "variables.tf",
    "versions.tf",
)  # fmt: skip
"""Of the module, all of them."""
_HEAD = "# `make terraform` writes this file from template.yaml.\n\n"
_TYPES = {"String": "string", "Number": "number"}
_FORBIDDEN_START = re.compile(r"\^\(\?!(?P<forbidden>.*)\)(?P<rest>\[.*\$)")
"""A pattern that begins with a negative lookahead, which Terraform's regular expressions do not have."""


def variable_name(parameter: str) -> str:
    """SlackWebhookUrl -> slack_webhook_url."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", parameter).lower()


def made(root: Path = ROOT) -> dict[str, str]:
    """The files that are written, by name."""
    layers = dict.fromkeys(("DependenciesLayer", "ChartsLayer", "AgentLayer"), b"")
    template = package(layers, {}, root).template
    parameters, outputs = template["Parameters"], template["Outputs"]
    return {
        "parameters.tf": _HEAD + _map_of(parameters),
        "variables.tf": _HEAD + "\n".join(_variable(name, one) for name, one in parameters.items()),
        "outputs.tf": _HEAD + "\n".join(_output(name, one) for name, one in outputs.items()),
    }


def _map_of(parameters: Mapping[str, Json]) -> str:
    width = max(map(len, parameters))
    lines = (
        f"    {name:<{width}} = {_as_text(f'var.{variable_name(name)}', one)}\n"
        for name, one in parameters.items()
    )
    return f"locals {{\n  parameters = {{\n{''.join(lines)}  }}\n}}\n"


def _as_text(value: str, parameter: Json) -> str:
    """CloudFormation takes text only."""
    return f"tostring({value})" if parameter["Type"] == "Number" else value


def _variable(name: str, parameter: Json) -> str:
    variable = variable_name(name)
    shown = {
        "description": quoted(parameter["Description"].strip()),
        "type": _TYPES[parameter["Type"]],
        "default": _literal(parameter),
        "sensitive": "true" if parameter.get("NoEcho") else None,
        "nullable": "false",
    }
    blocks = (_validation(*rule) for rule in _rules(f"var.{variable}", parameter))
    return f'variable "{variable}" {{\n{_attributes(shown)}{"".join(blocks)}}}\n'


def _literal(parameter: Json) -> str | None:
    if "Default" not in parameter:
        return None
    return json.dumps(parameter["Default"]) if parameter["Type"] == "Number" else quoted(parameter["Default"])


def _rules(value: str, parameter: Json) -> Iterator[tuple[str, str]]:
    """Conditions, and what Terraform says where one does not hold."""
    if "AllowedValues" in parameter:
        allowed = json.dumps(parameter["AllowedValues"])
        yield (
            f"contains({allowed}, {value})",
            f"It must be one of {', '.join(map(str, parameter['AllowedValues']))}.",
        )
    if "MinValue" in parameter:
        least, most = parameter["MinValue"], parameter["MaxValue"]
        yield f"{value} >= {least} && {value} <= {most}", f"It must be {least} to {most}."
    if "MaxLength" in parameter:
        most = parameter["MaxLength"]
        yield f"length({value}) <= {most}", f"It must have at most {most} characters."
    if "AllowedPattern" in parameter:
        explained = parameter.get("ConstraintDescription", f"It must match {parameter['AllowedPattern']}.")
        yield _matches(value, parameter["AllowedPattern"]), explained.strip()


def _matches(value: str, pattern: str) -> str:
    lookahead = _FORBIDDEN_START.fullmatch(pattern)
    if lookahead is None:
        return f"can(regex({quoted(pattern)}, {value}))"
    right, wrong = quoted(f"^{lookahead['rest']}"), quoted(f"^({lookahead['forbidden']})")
    return f"can(regex({right}, {value})) && !can(regex({wrong}, {value}))"


def _validation(condition: str, message: str) -> str:
    shown = _attributes({"condition": condition, "error_message": quoted(message)}, "    ")
    return f"\n  validation {{\n{shown}  }}\n"


def _output(name: str, output: Json) -> str:
    outputs = "aws_cloudformation_stack.rewarm.outputs"
    # A stack has no output whose condition is false, and Terraform refuses a key that is not there.
    value = f'lookup({outputs}, "{name}", null)' if "Condition" in output else f'{outputs}["{name}"]'
    shown = _attributes({"description": quoted(output["Description"]), "value": value})
    return f'output "{variable_name(name)}" {{\n{shown}}}\n'


def _attributes(values: Mapping[str, str | None], indent: str = "  ") -> str:
    """Aligned as `terraform fmt` does it."""
    there = {name: value for name, value in values.items() if value is not None}
    width = max(map(len, there))
    return "".join(f"{indent}{name:<{width}} = {value}\n" for name, value in there.items())


def quoted(text: Any) -> str:
    """As HCL quotes a text."""
    return json.dumps(str(text)).replace("${", "$${").replace("%{", "%%{")


def main() -> None:
    """Write the files."""
    for name, text in made().items():
        (ROOT / FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
