"""Takes a boost back: lowers a volume to the settings that it was ordered with.

EC2 takes four modifications of a volume in 24 hours, and ModifyVolume has no client token. So what EC2 says
of the volume decides what is left to do: however often this is asked, one modification is started.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarm.domain.errors import (
    ModificationPostponedError,
    RestoreError,
    ServiceUnavailableError,
    ThrottledError,
    VolumeNotFoundError,
)
from rewarm.domain.model import Volume
from rewarm.domain.volume.performance import BOOST_TAG, Performance, VolumeModification, parse_performance
from rewarm.ports.performance import VolumeModifications
from rewarm.ports.volumes import VolumeStore

UNDER_WAY = "the modification is under way"
LATER = (ThrottledError, ServiceUnavailableError, ModificationPostponedError)


@dataclass(frozen=True, slots=True)
class Lowering:
    """What became of it: `lowered`, `lowering` (ask again later) or `not-lowered` (asking does not help)."""

    state: Literal["lowering", "lowered", "not-lowered"]
    reason: str = ""
    accepted: bool = False
    """EC2 has taken the modification; from its start the lower settings are billed."""


def lower(volume_id: str, *, volumes: VolumeStore, modifications: VolumeModifications) -> Lowering:
    """Never raises: a volume that is at full speed must not fail for what it costs."""
    try:
        volume = volumes.get(volume_id)
        text = volume.settings.tags.get(BOOST_TAG)
        if text is None:
            return Lowering("lowered")
        return _lower(volume, parse_performance(text), volumes, modifications)
    except VolumeNotFoundError:
        return Lowering("lowered", f"{volume_id} is gone")
    except LATER as error:
        return Lowering("lowering", str(error))
    except (RestoreError, ValueError) as error:
        return Lowering("not-lowered", str(error))


def _lower(
    volume: Volume, target: Performance, volumes: VolumeStore, modifications: VolumeModifications
) -> Lowering:
    change = modifications.latest(volume.volume_id)
    if _is_in_force(volume, target, change):
        return _without_tag(volume.volume_id, volumes)
    if change is None or change.state != "modifying" or not target.fits(change.target):
        modifications.start(volume.volume_id, target)
    return Lowering("lowering", UNDER_WAY, accepted=True)


def _is_in_force(volume: Volume, target: Performance, change: VolumeModification | None) -> bool:
    if change is not None and change.in_force and target.fits(change.target):
        return True
    return (change is None or not change.under_way) and target.fits(volume.settings)


def _without_tag(volume_id: str, volumes: VolumeStore) -> Lowering:
    """The tag says that there is something to lower; it goes last."""
    try:
        volumes.untag(volume_id, BOOST_TAG)
    except LATER:
        raise
    except RestoreError as error:
        return Lowering("lowered", f"the tag {BOOST_TAG} could not be removed: {error}")
    return Lowering("lowered")
