"""The repository's YAML, read by libyaml in a sixth of the time of PyYAML's own parser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from samtranslator.yaml_helper import intrinsics_multi_constructor

from local import ROOT, Json


class _Loader(yaml.CSafeLoader):
    """Spells CloudFormation's short forms out, as SAM does."""


_Loader.add_multi_constructor("!", intrinsics_multi_constructor)


def loaded(text: str) -> Any:
    """What a text says."""
    return yaml.load(text, _Loader)  # noqa: S506  # a safe loader


def template(root: Path = ROOT, name: str = "template.yaml") -> Json:
    """The template of a folder, for the caller to change."""
    found: Json = loaded((root / name).read_text(encoding="utf-8"))
    return found
