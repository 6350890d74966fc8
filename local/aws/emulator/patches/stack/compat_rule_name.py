"""CloudFormation refuses a rule whose name is taken.

Why: the emulator's CloudFormation writes over a rule of another stack that has the same name. AWS fails the
resource: custom names are unique across all stacks (CloudFormation user guide, "Name type").
"""

from __future__ import annotations

from typing import Any

from local.aws.emulator import seam

_KIND = "AWS::Events::Rule"


def apply() -> None:
    """Mend the emulator's CloudFormation."""
    provisioners = seam.module("services.cloudformation.provisioners")
    create = seam.known(provisioners, "_eb_rule_create", 'props.get("Name")', "_eb._rule_key(name, bus)")
    rules = seam.module("services.eventbridge")

    def create_once(logical_id: str, props: dict[str, Any], stack_name: str) -> Any:
        name = props.get("Name")
        if name and rules._rules.get(rules._rule_key(name, provisioners._eb_rule_bus_name(props))):
            raise ValueError(f"Resource of type '{_KIND}' with identifier '{name}' already exists.")
        return create(logical_id, props, stack_name)

    create_once.__wrapped__ = create  # type: ignore[attr-defined]
    seam.replace(provisioners, "_eb_rule_create", create_once)
    seam.add_entry(provisioners._RESOURCE_HANDLERS[_KIND], "create", create_once)
