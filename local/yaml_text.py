"""The repository's YAML, read by libyaml in a sixth of the time of PyYAML's own parser."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from local import ROOT, Json


def loaded(text: str) -> Any:
    """What a text says."""
    return yaml.load(text, yaml.CSafeLoader)  # a safe loader


def template(root: Path = ROOT, name: str = "template.yaml") -> Json:
    """The template of a folder, for the caller to change."""
    found: Json = yaml.load((root / name).read_text(encoding="utf-8"), _template_loader())  # noqa: S506
    return found


@cache
def _template_loader() -> type[yaml.CSafeLoader]:
    """Spells CloudFormation's short forms out, as SAM does, which `make build` need not have."""
    from samtranslator.yaml_helper import intrinsics_multi_constructor  # noqa: PLC0415

    class Loader(yaml.CSafeLoader):
        """A loader of its own, because it is changed."""

    Loader.add_multi_constructor("!", intrinsics_multi_constructor)
    return Loader


class _Untagged(yaml.CSafeLoader):
    """Reads a template where SAM is not installed, without the values that have a short form."""


_Untagged.add_multi_constructor("!", lambda _loader, _suffix, _node: None)


def conditions(root: Path = ROOT) -> dict[str, str]:
    """Resource -> its condition, of those in the template of a folder that have one."""
    text = (root / "template.yaml").read_text(encoding="utf-8")
    resources = yaml.load(text, _Untagged)["Resources"]  # noqa: S506 - a safe loader
    return {name: one["Condition"] for name, one in resources.items() if "Condition" in one}
