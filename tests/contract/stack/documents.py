"""The SSM documents that template.yaml includes: their parameters and their scripts."""

from __future__ import annotations

import re

from local import documents
from tests.contract.repository import Json

CONTENTS = documents.contents()
WINDOWS = "Windows"
"""In the name of each document for Windows."""


def names(platform: str = "") -> list[str]:
    """Every document, or those for one platform."""
    return [one for one in sorted(CONTENTS) if not platform or (WINDOWS in one) == (platform == WINDOWS)]


def document(name: str) -> Json:
    """A document's content."""
    return CONTENTS[name]


def step(name: str) -> Json:
    """GetCommandInvocation needs no step's name where a document has one step (botocore PluginName)."""
    found: Json
    (found,) = document(name)["mainSteps"]
    return found


def script(name: str) -> str:
    """What it runs, with the places of its parameters."""
    return "\n".join(step(name)["inputs"]["runCommand"])


def filled(name: str, values: dict[str, str]) -> str:
    """The script with values that the document lets in."""
    text, parameters = script(name), document(name)["parameters"]
    for key, value in values.items():
        assert re.search(parameters[key]["allowedPattern"], value), f"{key} does not let {value!r} in"
        text = text.replace(f"{{{{ {key} }}}}", value)
    return text


def powershell_code(name: str) -> str:
    """Without comments and strings; what a string evaluates stays out too."""
    return re.sub(r"(?m)^\s*#.*$|'[^'\n]*'|\"(?:`.|[^\"\n`])*\"", "", script(name))
