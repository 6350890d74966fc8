"""Which EBS card each volume of a restore reads through, where its instance has more than one.

EC2 is asked what is attached only then. Volumes that other restores are about to attach are not seen.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.contracts.values import VolumeAssignment
from rewarm.domain.model import MIB, InstanceEbsLimits, VolumeSettings
from rewarm.domain.volume.cards import CardUser, choose_cards
from rewarm.domain.volume.replacing import living
from rewarm.domain.volume.volume_types import speed
from rewarm.ports.instances import Instances
from rewarm.ports.volumes import VolumeStore

_OnCard = tuple[str, int, VolumeSettings]
"""The id of a volume, its card and its settings."""


def with_cards(
    volumes: Sequence[VolumeAssignment], instances: Instances, store: VolumeStore
) -> list[VolumeAssignment]:
    """Returns the volumes with their cards; a volume that replaces another gets its card.

    An adopted volume has the card that it is on, and one with a card from the plan of a fleet keeps it.
    """
    members: dict[tuple[str, str], list[int]] = {}
    for at, volume in enumerate(volumes):
        if volume.instance_id is not None and volume.instance_type is not None:
            members.setdefault((volume.instance_id, volume.instance_type), []).append(at)
    limits = {name: instances.ebs_limits(kind) for name, kind in members}
    there = _attached([name for name, found in limits.items() if found.cards], store)
    chosen: dict[int, int] = {}
    for (name, _), places in members.items():
        if limits[name].cards:
            cards = _of_instance(limits[name], [volumes[at] for at in places], there.get(name, []))
            chosen |= dict(zip(places, cards, strict=True))
    return [volume.model_copy(update={"card": chosen.get(at)}) for at, volume in enumerate(volumes)]


def _attached(instance_ids: Sequence[str], store: VolumeStore) -> dict[str, list[_OnCard]]:
    """By instance."""
    found: dict[str, list[_OnCard]] = {}
    for volume in store.on_instances(instance_ids) if instance_ids else ():
        for attachment in living(volume):
            on_card = (volume.volume_id, attachment.card, volume.settings)
            found.setdefault(attachment.instance_id, []).append(on_card)
    return found


def _of_instance(
    limits: InstanceEbsLimits, volumes: Sequence[VolumeAssignment], there: Sequence[_OnCard]
) -> list[int]:
    rooms = [card.baseline_throughput_mib_s or 0.0 for card in limits.cards]
    leaving = {_old(volume) for volume in volumes}
    for volume_id, card, settings in there:
        if volume_id not in leaving:
            rooms[card] -= speed(settings).burst_mib_s
    places = {volume_id: card for volume_id, card, _ in there}
    users = [
        CardUser(
            speed(volume.volume.settings()).burst_mib_s,
            volume.data_bytes / MIB,
            places.get(_old(volume) or "", volume.card),
        )
        for volume in volumes
    ]
    return choose_cards(users, rooms)


def _old(volume: VolumeAssignment) -> str | None:
    """The volume that is on a card already: the one that is replaced, or the adopted one itself."""
    return volume.replaces.volume_id if volume.replaces is not None else volume.adopts
