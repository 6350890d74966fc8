"""The agents of a build, by their SHA-256: what documents let run as root, and what functions name.

The artifacts bucket has the agents, and decides nothing about them. Whoever can write there, or has taken a
function over, cannot have another program started: Systems Manager refuses a value that is not among a
parameter's `allowedValues` (Systems Manager user guide, "Data elements and parameters": "If the user inputs a
value that isn't allowed, the execution fails to start").
"""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

from local import ROOT, Json

BINARIES = ("warmer-linux-x86_64", "warmer-linux-arm64", "warmer-windows-x86_64.exe")
"""What `make -C warmer release` builds."""
PARAMETER = "agentSha256"
PACKAGED = "rewarm/agents.json"
"""The hashes in the functions' package, below functions/: `{"linux-x86_64": "…"}`."""
NO_AGENT = "0" * 64
"""The hash of no file: what a document allows where the build has no agent for its platform."""
_NAME = re.compile(r"warmer-((linux|windows)-(x86_64|arm64))(\.exe)?")
_PLATFORMS = {"aws:runShellScript": "linux", "aws:runPowerShellScript": "windows"}


def released(root: Path = ROOT) -> dict[str, bytes]:
    """The release binaries by name. Raises FileNotFoundError if they are not built."""
    folder = root / "warmer" / "build" / "release"
    return {name: (folder / name).read_bytes() for name in BINARIES}


def hashes(binaries: Mapping[str, bytes]) -> dict[str, str]:
    """`platform-architecture` -> SHA-256. Raises ValueError for a name that no agent has."""
    found = {}
    for name, content in binaries.items():
        match = _NAME.fullmatch(name)
        if match is None:
            raise ValueError(f"{name} is no name of an agent, such as {BINARIES[0]}")
        found[match[1]] = hashlib.sha256(content).hexdigest()
    return found


def packaged(agents: Mapping[str, str]) -> dict[str, bytes]:
    """The file that functions read the hashes from, by its name in their package."""
    return {PACKAGED: (json.dumps(agents, indent=2, sort_keys=True) + "\n").encode()}


def pinned(content: Json, agents: Mapping[str, str]) -> Json:
    """A document that starts no agent but those of its platform; another document as it is.

    A default of the parameter, which names no agent, stays allowed.
    """
    if PARAMETER not in content.get("parameters", {}):
        return content
    platforms = {_PLATFORMS[step["action"]] for step in content["mainSteps"]}
    allowed = sorted(sha256 for name, sha256 in agents.items() if name.partition("-")[0] in platforms)
    found = copy.deepcopy(content)  # documents of two platforms share their parameters
    parameter = found["parameters"][PARAMETER]
    without = [parameter["default"]] if "default" in parameter else []
    parameter["allowedValues"] = [*without, *(allowed or [NO_AGENT])]
    return found
