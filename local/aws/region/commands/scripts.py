"""From a document and a command's parameters to scripts (SSM user guide, "Data elements and parameters").

The SSM agent silently replaces an execution timeout outside 5 to 172,800 seconds by 3,600
(aws/amazon-ssm-agent, agent/plugins/pluginutil).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from local import Json
from local.aws.region.errors import ApiError

POWERSHELL = "aws:runPowerShellScript"
"""Documents may have such steps; there is no PowerShell that could run them."""
TIMEOUT_SECONDS = (5, 172_800)
DEFAULT_TIMEOUT_SECONDS = 3_600
REFERENCE = re.compile(r"\{\{\s*([A-Za-z0-9_:.-]+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Step:
    """One step, ready to run."""

    name: str
    action: str
    script: str
    timeout_seconds: int
    skipped: bool
    on_failure: str | None
    is_end: bool
    finally_step: bool


def read_parameters(document: Json, given: Json) -> dict[str, Any]:
    """The values of all the document's parameters, checked as SendCommand checks them."""
    declared = document.get("parameters") or {}
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise ApiError("InvalidParameters", f"document parameter {unknown[0]} does not exist")
    return {name: _value(name, spec, given.get(name)) for name, spec in declared.items()}


def steps(document: Json, values: dict[str, Any], platform: str) -> list[Step]:
    """The document's steps with their parameters filled in."""
    return [_step(mainStep, values, platform) for mainStep in document["mainSteps"]]


def execution_timeout(raw: Any) -> int:
    """The step's time limit, by the agent's rule."""
    try:
        seconds = int(str(raw))
    except ValueError:
        return DEFAULT_TIMEOUT_SECONDS
    return seconds if TIMEOUT_SECONDS[0] <= seconds <= TIMEOUT_SECONDS[1] else DEFAULT_TIMEOUT_SECONDS


def _step(one: Json, values: dict[str, Any], platform: str) -> Step:
    inputs = one["inputs"]
    commands = _lines(inputs["runCommand"], values)
    directory = _fill(str(inputs.get("workingDirectory") or ""), values)
    if directory:
        commands.insert(0, f"cd '{directory}' || exit 1")
    return Step(
        name=one["name"],
        action=one["action"],
        script="\n".join(commands) + "\n",
        timeout_seconds=execution_timeout(_fill(str(inputs.get("timeoutSeconds", "")), values)),
        skipped=not _applies(one.get("precondition"), values, platform),
        on_failure=one.get("onFailure") or inputs.get("onFailure"),
        is_end=bool(one.get("isEnd")),
        finally_step=str(one.get("finallyStep", inputs.get("finallyStep", ""))).lower() == "true",
    )


def _lines(raw: Any, values: dict[str, Any]) -> list[str]:
    """`runCommand` as lines; an element that is only a reference to a list becomes its items."""
    lines: list[str] = []
    for element in raw if isinstance(raw, list) else [raw]:
        whole = REFERENCE.fullmatch(str(element).strip())
        value = values.get(whole.group(1)) if whole else None
        if isinstance(value, list):
            lines.extend(str(item) for item in value)
        else:
            lines.append(_fill(str(element), values))
    return lines


def _fill(text: str, values: dict[str, Any]) -> str:
    def replace(match: re.Match[str]) -> str:
        value = values.get(match.group(1))
        if value is None:
            return match.group(0)
        return "\n".join(map(str, value)) if isinstance(value, list) else str(value)

    return REFERENCE.sub(replace, text)


def _applies(precondition: Json | None, values: dict[str, Any], platform: str) -> bool:
    """Only StringEquals is allowed; `platformType` is the instance's platform."""
    for left, right in (precondition or {}).values():
        sides = [platform if side == "platformType" else _fill(str(side), values) for side in (left, right)]
        if sides[0] != sides[1]:
            return False
    return True


def _value(name: str, spec: Json, given: list[str] | None) -> Any:
    if given is None:
        if "default" not in spec:
            raise ApiError("InvalidParameters", f"Parameter {name} is required")
        return spec["default"]
    value: Any = list(given) if spec.get("type") == "StringList" else (given[0] if given else "")
    for text in value if isinstance(value, list) else [value]:
        _check_text(name, spec, str(text))
    if spec.get("type") == "StringList":
        _check_count(name, spec, value)
    return value


def _check_text(name: str, spec: Json, text: str) -> None:
    allowed, pattern = spec.get("allowedValues"), spec.get("allowedPattern")
    if allowed is not None and text not in [str(one) for one in allowed]:
        raise ApiError(
            "InvalidParameters", f"Parameter {name} has an invalid value: allowed values are {allowed}"
        )
    if pattern is not None and re.search(pattern, text) is None:
        raise ApiError("InvalidParameters", f"Parameter {name} has an invalid value: it must match {pattern}")
    if not int(spec.get("minChars", 0)) <= len(text) <= int(spec.get("maxChars", 65_536)):
        raise ApiError("InvalidParameters", f"Parameter {name} has an invalid length")


def _check_count(name: str, spec: Json, value: list[str]) -> None:
    if not int(spec.get("minItems", 0)) <= len(value) <= int(spec.get("maxItems", 65_536)):
        raise ApiError("InvalidParameters", f"Parameter {name} has an invalid number of items")
