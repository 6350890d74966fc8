"""EBS cards: on an instance with more than one, a volume has at most the throughput of its card.

AttachVolume puts a volume on card 0 unless its parameter EbsCardIndex names another one (botocore: ec2
AttachVolumeRequest), and the instance type's totals count all cards.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewarm.domain.value import Value


class CardUser(Value):
    """A volume that is to have a card."""

    mib_s: float
    """Its provisioned throughput."""
    mib: float
    """What is to be loaded into it."""
    card: int | None = None
    """Decided already, as where it takes the place of another volume."""


def choose_cards(volumes: Sequence[CardUser], rooms: Sequence[float]) -> list[int]:
    """Returns the index of each volume's card.

    `rooms` has the throughput that each card has left, in MiB/s. Volumes whose card is decided come first.
    Then the one with the highest throughput gets the card with the most room, and so on. Of equal volumes,
    the one with the most data comes first; of equal cards, the one with the least data is taken.
    """
    left = list(rooms)
    loaded = [0.0] * len(rooms)
    found = [0] * len(volumes)
    order = sorted(
        range(len(volumes)), key=lambda at: (volumes[at].card is None, -volumes[at].mib_s, -volumes[at].mib)
    )
    for at in order:
        volume = volumes[at]
        card = volume.card
        if card is None:
            card = min(range(len(rooms)), key=lambda index: (-left[index], loaded[index]))
        found[at] = card
        left[card] -= volume.mib_s
        loaded[card] += volume.mib
    return found
