"""The template with some of its parts left out, as CloudFormation resolves the parameters for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local import Json

NO_VALUE = {"Ref": "AWS::NoValue"}
LABEL = "Parts that can be left out"


def names(template: Json) -> list[str]:
    """The parameters that choose parts, as the template's interface lists them."""
    interface = template.get("Metadata", {}).get("AWS::CloudFormation::Interface", {"ParameterGroups": []})
    groups = [one for one in interface["ParameterGroups"] if one["Label"]["default"] == LABEL]
    return [name for group in groups for name in group["Parameters"]]


def every(template: Json, value: str = "yes") -> dict[str, str]:
    """The same choice for every part."""
    return dict.fromkeys(names(template), value)


def defaults(template: Json) -> dict[str, str]:
    """What is chosen where nobody says anything."""
    return {name: template["Parameters"][name]["Default"] for name in names(template)}


def chosen(template: Json, parameters: Mapping[str, str] | None = None) -> Json:
    """The template with the resources, outputs and values of these parts alone.

    What depends on other parameters, or on the account, stays as it is. Parts that are not named are as the
    template's defaults say.
    """
    given = {name: (parameters or {}).get(name, usual) for name, usual in defaults(template).items()}
    known = {name: _holds(one, template, given) for name, one in template.get("Conditions", {}).items()}
    found = dict(template)
    for section in {"Resources", "Outputs", "Globals"} & set(template):
        kept = {
            name: one for name, one in template[section].items() if known.get(_condition(one)) is not False
        }
        found[section] = {name: _resolved(one, known) for name, one in kept.items()}
    return found


def _condition(one: Json) -> str:
    said: str = one.get("Condition", "")
    return said


def _holds(condition: Json, template: Json, given: Mapping[str, str]) -> bool | None:
    """Whether a condition holds; None if more than the parts decides that."""
    ((name, argument),) = condition.items()
    if name == "Condition":
        return _holds(template["Conditions"][argument], template, given)
    if name == "Fn::Equals" and isinstance(argument[0], dict) and argument[0].get("Ref") in given:
        return bool(given[argument[0]["Ref"]] == argument[1])
    if name == "Fn::And":
        found = [_holds(one, template, given) for one in argument]
        return False if False in found else None if None in found else True
    return None


def _resolved(value: Any, known: Mapping[str, bool | None]) -> Any:
    if isinstance(value, list):
        items = [_resolved(item, known) for item in value]
        return [new for new, old in zip(items, value, strict=True) if new != NO_VALUE or old == NO_VALUE]
    if not isinstance(value, dict):
        return value
    if (choice := value.get("Fn::If")) is not None and known.get(choice[0]) is not None:
        return _resolved(choice[1] if known[choice[0]] else choice[2], known)
    decided = (
        "Condition" if isinstance(value.get("Condition"), str) and known.get(value["Condition"]) else None
    )
    return {name: _resolved(item, known) for name, item in value.items() if name != decided}
