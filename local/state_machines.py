"""The state machines as they are deployed: `statemachine/*.asl.yaml` with the blocks that they share put in.

SAM uploads a definition as it is, and Amazon States Language has no anchors. So what is deployed is JSON.
"""

from __future__ import annotations

from pathlib import Path

from local import ROOT, Json, yaml_text

_ONLY_BLOCKS = "x-"
"""How keys begin that hold blocks and are no part of a definition."""


def definitions(root: Path = ROOT) -> dict[str, Json]:
    """Every definition, by the logical id of its resource in template.yaml."""
    paths = sorted((root / "statemachine").glob("*.asl.yaml"))
    return {_logical_id(path): _definition(path) for path in paths}


def _logical_id(path: Path) -> str:
    """RestoreVolumeStateMachine of restore_volume.asl.yaml."""
    words = path.name.partition(".")[0].split("_")
    return "".join(word.capitalize() for word in words) + "StateMachine"


def _definition(path: Path) -> Json:
    # An alias reaches only anchors of the same text.
    blocks = (path.parent / "blocks.yaml").read_text(encoding="utf-8")
    loaded = yaml_text.loaded(blocks + path.read_text(encoding="utf-8"))
    return {key: value for key, value in loaded.items() if not key.startswith(_ONLY_BLOCKS)}
