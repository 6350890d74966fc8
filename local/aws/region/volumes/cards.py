"""EBS cards: volumes on one card of an instance have together what the card gives (botocore EbsCardInfo)."""

from __future__ import annotations

from collections.abc import Callable

from local.aws.machines.dataplane import DataPlaneError, VolumeLimits
from local.aws.region.core import Core
from local.aws.region.errors import ApiError, invalid
from local.aws.region.resources import Attachment, Instance, Volume
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_types import limits_now, limits_of, lowest


class Cards:
    """Which card an attachment is on, and what each volume has of it."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables

    def chosen(self, instance: Instance, asked: int | None) -> int | None:
        """The card, 0 where none is asked for; None where the instance has one, and that needs no index."""
        kind = self._tables.instance_types.get(instance.instance_type)
        count = 1 if kind is None else kind.cards
        if not 0 <= (asked or 0) < count:
            raise self._refusal(instance, asked)
        return None if count == 1 else asked or 0

    def _refusal(self, instance: Instance, asked: int | None) -> ApiError:
        """AWS documents neither code nor words."""
        return invalid(
            f"Invalid value '{asked}' for ebsCardIndex. The instance type {instance.instance_type} has no "
            "such EBS card"
        )

    def share(self, volume: Volume, *left: Attachment) -> None:
        """Sets anew what volumes may do: this one was attached, has changed, or has `left` an instance."""
        changed = {volume.volume_id: volume}
        for attachment in (*volume.attachments.values(), *left):
            if attachment.card is not None:
                changed |= {one.volume_id: one for one in self._users(attachment)}
        for one in changed.values():
            ceilings = [self._ceiling(one, place) for place in one.attachments.values()]
            found = [ceiling for ceiling in ceilings if ceiling is not None]
            ceiling = lowest(*found) if found else None
            if ceiling != one.card_ceiling or one is volume:
                one.card_ceiling = ceiling
                self._core.later(self._limiter(one))

    def _users(self, at: Attachment) -> list[Volume]:
        """Volumes with bytes on the same card, idle ones too."""
        places = [(one, one.attachments.get(at.instance_id)) for one in self._tables.volumes.values()]
        return [one for one, place in places if place and place.card == at.card and one.has_data]

    def _ceiling(self, volume: Volume, at: Attachment) -> VolumeLimits | None:
        """Its share of a card that has less than its volumes have; None where it has enough."""
        if at.card is None:
            return None
        kind = self._tables.instance_types[self._tables.instance(at.instance_id).instance_type]
        own, each = limits_of(volume.performance), [limits_of(one.performance) for one in self._users(at)]
        iops, mib_s = sum(one.iops for one in each), sum(one.throughput_mib_s for one in each)
        card_mib_s = kind.baseline_mbps / 8 / kind.cards * 1_000_000 / 1_048_576
        share = min(1.0, card_mib_s / max(1.0, mib_s))
        of_iops = min(1.0, kind.baseline_iops / kind.cards / max(1, iops))
        if share == of_iops == 1.0:
            return None
        return VolumeLimits(max(1, int(own.iops * of_iops)), own.throughput_mib_s * share)

    def _limiter(self, volume: Volume) -> Callable[[], None]:
        def limit() -> None:
            try:
                if volume.has_data:
                    self._core.dataplane.set_limits(volume.volume_id, limits_now(volume))
            except DataPlaneError:
                if volume.volume_id in self._tables.volumes and volume.state != "deleting":
                    raise

        return limit
