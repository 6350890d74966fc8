"""What a request with target.mode rewind may say: it makes no volume, so much of a restore is not in it."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic.alias_generators import to_camel

from rewarm.contracts.request import RestoreRequest
from rewarm.domain.blocks.rewindable import MOST_REWOUND
from rewarm.domain.errors import InvalidRequestError


def check_rewind(request: RestoreRequest, *, may_rewind: bool) -> None:
    """The snapshot says which volume goes back, and no volume is made."""
    if not may_rewind:
        raise InvalidRequestError(
            "found rewind; only POST /plans takes it yet, and says what it would be. Allowed is replace, "
            "which puts a new volume of the snapshot in the old one's place, or attach",
            field="target.mode",
        )
    source, refused = request.source, "does not go with target.mode rewind"
    if (source.snapshot_id or source.volume_id or source.tags or source.volumes) is None:
        raise InvalidRequestError(
            f"{refused}; allowed are snapshotId, volumeId, tags or volumes: name the volumes that go back",
            field=f"source.{'instanceId' if source.instance_id else 'imageId'}",
        )
    if source.region is not None:
        raise InvalidRequestError(f"{refused}: blocks are compared within a Region", field="source.region")
    if len(source.volumes or []) > MOST_REWOUND:
        raise InvalidRequestError(
            f"found {len(source.volumes or [])}; at most {MOST_REWOUND} volumes are rewound at once",
            field="source.volumes",
        )
    for field, why in _not_in_a_rewind(request):
        raise InvalidRequestError(f"{refused}: {why}", field=field)


def _not_in_a_rewind(request: RestoreRequest) -> Iterator[tuple[str, str]]:
    """Fields that are about a new volume or about reading it, and why they say nothing here."""
    target, warm_up = request.target, request.warm_up
    own, no_new = "the snapshot's own volume goes back, where it is", "no volume is made"
    for name in ("device", "bring_online"):
        if getattr(target, name):
            yield f"target.{to_camel(name)}", own
    for index, listed in enumerate(request.source.volumes or []):
        for name in ("device", "volume"):
            if getattr(listed, name) is not None:
                yield f"source.volumes.{index}.{name}", own if name == "device" else no_new
    for name in request.volume.model_dump(exclude_defaults=True):
        yield f"volume.{to_camel(name)}", no_new
    for name in warm_up.model_dump(exclude_defaults=True, include={"scope", "first", "depth"}):
        yield f"warmUp.{to_camel(name)}", "just the blocks that differ are written"
    if request.objective.strategy != "auto":
        yield "objective.strategy", "what is written is at full speed"
