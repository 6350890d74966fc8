"""What a fleet is made of: the snapshot, the target and the settings of each of its volumes.

One call to EC2 asks about up to 200 volumes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Literal

from rewarm.contracts.base import JsonObject
from rewarm.contracts.fleets import (
    FleetSource,
    ImageSource,
    InstanceSource,
    ItemSource,
    ListedItem,
    TagsSource,
    parse_fleet_members,
)
from rewarm.domain.errors import (
    InvalidRequestError,
    RestoreError,
    SnapshotNotFoundError,
    SnapshotNotUsableError,
)
from rewarm.domain.fleets import (
    MOST_VOLUMES,
    candidates_of_each,
    check_count,
    check_spread,
    recovery_point,
    together,
)
from rewarm.domain.model import ImageVolume, Snapshot, Volume
from rewarm.domain.snapshots import Refusal, SetSelection, newest_set, newest_usable
from rewarm.domain.tags import any_value
from rewarm.domain.units import iso
from rewarm.domain.value import Value
from rewarm.domain.volume.replacing import living
from rewarm.ports.snapshots import SnapshotCatalog
from rewarm.steps.fleet.requests import Origin, places_of
from rewarm.steps.select.selection import SelectionPorts
from rewarm.steps.select.sources import (
    NAMED,
    Chosen,
    at_field,
    named_snapshots,
    refusal_now,
    tags_text,
    wanted_devices,
)

_Places = Mapping[str, tuple[str, str]]
"""Volume -> the instance that it is attached to, and its device name there."""


class FleetItem(Value):
    """One volume of a fleet, as `source`, `target` and `volume` of a request of POST /restores."""

    snapshot: JsonObject
    target: JsonObject
    volume: JsonObject
    started_at: str | None = None
    """When the snapshot was started."""
    because: str = ""
    """Why this snapshot was chosen."""
    consistent_set: bool | None = None
    """Whether the snapshots of its instance were taken together; None if there is only this volume."""


class FleetSourcePorts(SelectionPorts, kw_only=True):
    """The ports that resolve_fleet needs, and the Region's name."""

    region: str


def resolve_fleet(source: JsonObject, ports: FleetSourcePorts) -> list[FleetItem]:
    """Returns the volumes of a fleet, ordered by the request's list, device names or volume ids.

    `source` is that of the request, with the `target` and the `volume` that its volumes share.
    Raises every error that names a field of the request.
    """
    parts = {name: source[name] for name in ("target", "volume") if source.get(name) is not None}
    selector = {name: value for name, value in source.items() if name not in ("target", "volume")}
    members = parse_fleet_members({**parts, "source": selector})
    choice_of = _Choice(members.source, ports)
    chosen = choice_of.made()
    images = choice_of.images
    snapshots = [choice.snapshot for choice in chosen]
    check_spread(snapshots, members.source.max_spread_seconds, field="source.maxSpreadSeconds")
    origins = [Origin(choice.device, images.get(choice.device or "")) for choice in chosen]
    places = places_of(members, origins, ports.instances)
    return [
        FleetItem(
            snapshot={"snapshotId": choice.snapshot.snapshot_id},
            target=place.target,
            volume=place.volume,
            started_at=iso(choice.snapshot.started_at),
            because=choice.because,
            consistent_set=choice.consistent_set,
        )
        for choice, place in zip(chosen, places, strict=True)
    ]


class _Choice:
    """The snapshots that a source selects."""

    def __init__(self, source: FleetSource, ports: FleetSourcePorts) -> None:
        self._source = source
        self._ports = ports
        self._snapshots = ports.snapshots
        self._refusal = refusal_now(ports.snapshots)
        self.images: dict[str, ImageVolume] = {}
        """What an AMI says of its volumes, by device name; filled by `made`."""

    def made(self) -> list[Chosen]:
        """The chosen snapshots in the fleet's order. Raises every error that names a field of the source."""
        source = self._source
        if source.instance is not None:
            return self._of_instance(source.instance)
        if source.image is not None:
            return self._of_image(source.image, "source.image.imageId")
        if source.recovery_point is not None:
            return self._of_recovery_point(source.recovery_point.arn)
        if source.tags is not None:
            return self._of_tags(source.tags)
        return self._of_items(source.items or [])

    def _newest(self, at: Literal["latest"] | datetime | None = None) -> _Newest:
        wanted = at or self._source.at
        return _Newest(self._snapshots, self._refusal, wanted if isinstance(wanted, datetime) else None)

    def _of_instance(self, source: InstanceSource) -> list[Chosen]:
        field = "source.instance.instanceId"
        try:
            instance = self._ports.instances.get(source.instance_id)
        except RestoreError as error:
            raise at_field(error, field) from error
        wanted = wanted_devices(
            instance.devices, source.devices, source.instance_id, field, "source.instance.devices"
        )
        places = {volume_id: (source.instance_id, device) for device, volume_id in wanted.items()}
        return self._newest().of_volumes(dict.fromkeys(places, field), places)

    def _of_image(self, source: ImageSource, field: str) -> list[Chosen]:
        """One image's snapshots are taken together (botocore: ec2 CreateImage NoReboot: crash-consistent)."""
        try:
            volumes = self._snapshots.of_image(source.image_id)
        except RestoreError as error:
            raise at_field(error, field) from error
        mapping = {device: volume.snapshot_id for device, volume in volumes.items()}
        wanted = wanted_devices(mapping, source.devices, source.image_id, field, "source.image.devices")
        self.images = volumes
        snapshots = self._named(dict.fromkeys(wanted.values(), field))
        return [
            Chosen(
                snapshots[snapshot_id],
                f"{source.image_id} has it for {device}",
                device=device,
                consistent_set=None if len(wanted) == 1 else True,
            )
            for device, snapshot_id in wanted.items()
        ]

    def _of_recovery_point(self, arn: str) -> list[Chosen]:
        field = "source.recoveryPoint.arn"
        snapshot_id, image_id = recovery_point(arn, self._ports.region, field=field)
        if image_id is not None:
            return self._of_image(ImageSource(image_id=image_id), field)
        return [Chosen(self._named({snapshot_id: field})[snapshot_id], "the recovery point is this snapshot")]

    def _of_tags(self, source: TagsSource) -> list[Chosen]:
        if source.volumes is not None:
            field = "source.tags.volumes"
            volumes = list(islice(self._ports.volumes.with_tags(any_value(source.volumes)), MOST_VOLUMES + 1))
            check_count(len(volumes), field=field)
            names = sorted(volume.volume_id for volume in volumes)
            return self._newest().of_volumes(dict.fromkeys(names, field), _attachments(volumes))
        field = "source.tags.snapshots"
        newest = self._newest()
        candidates = newest.candidates(self._tagged(source), field, tag=source.volume_tag)
        check_count(len(candidates), field=field)
        volume_ids = list(candidates) if source.volume_tag is None else []
        places = _attachments(self._ports.volumes.existing(volume_ids))
        return newest.of_candidates(candidates, dict.fromkeys(candidates, field), places)

    def _tagged(self, source: TagsSource) -> Iterable[Snapshot]:
        """The snapshots with the tags. Raises InvalidRequestError if their volumes are not known."""
        for snapshot in self._snapshots.with_tags(any_value(source.snapshots or {})):
            if source.volume_tag is None and snapshot.is_copy:
                raise InvalidRequestError(
                    f"is missing: {snapshot.snapshot_id} is a copy, and EC2 does not say of which volume; "
                    "allowed is the key of a tag that says it, or a list in source.items",
                    field="source.tags.volumeTag",
                )
            if source.volume_tag is None or source.volume_tag in snapshot.tags:
                yield snapshot

    def _of_items(self, items: Sequence[ListedItem]) -> list[Chosen]:
        """The snapshots of a list: one call for all ids, and a call for each item with tags."""
        named: dict[str, str] = {}
        volumes: dict[Literal["latest"] | datetime | None, dict[str, str]] = {}
        for index, item in enumerate(items):
            field = f"source.items.{index}.source"
            if item.source.snapshot_id is not None:
                named.setdefault(item.source.snapshot_id, f"{field}.snapshotId")
            elif item.source.volume_id is not None:
                fields = volumes.setdefault(item.source.at, {})
                fields.setdefault(item.source.volume_id, f"{field}.volumeId")
        snapshots = self._named(named)
        newest = {
            at: dict(zip(fields, self._newest(at).of_volumes(fields, {}), strict=True))
            for at, fields in volumes.items()
        }

        def choice(index: int, source: ItemSource) -> Chosen:
            if source.snapshot_id is not None:
                return Chosen(snapshots[source.snapshot_id], NAMED)
            if source.volume_id is not None:
                return newest[source.at][source.volume_id]
            return self._newest().with_tags(source.tags or {}, f"source.items.{index}.source.tags")

        return [choice(index, item.source) for index, item in enumerate(items)]

    def _named(self, fields: Mapping[str, str]) -> dict[str, Snapshot]:
        return named_snapshots(self._snapshots, fields, self._refusal)


class _Newest(Value):
    """The newest usable snapshot of each volume, not later than `at`."""

    snapshots: SnapshotCatalog
    refusal: Refusal
    at: datetime | None

    def of_volumes(self, fields: Mapping[str, str], places: _Places) -> list[Chosen]:
        """In the order of `fields`, which map each volume to the request's field for errors."""
        found = self.candidates(self.snapshots.of_volumes(list(fields)), "source")
        return self.of_candidates({name: found.get(name, []) for name in fields}, fields, places)

    def with_tags(self, tags: dict[str, str], field: str) -> Chosen:
        """The newest snapshot of any volume with all these tags."""
        what = tags_text(tags)
        found = newest_usable(
            self.snapshots.with_tags(tags), at=self.at, what=what, field=field, refusal=self.refusal
        )
        return Chosen(found.snapshot, f"the newest usable snapshot with {what}")

    def candidates(
        self, found: Iterable[Snapshot], field: str, *, tag: str | None = None
    ) -> dict[str, list[Snapshot]]:
        """The snapshots to choose from, by volume or by the value of the tag that names the volume."""

        def name_of(snapshot: Snapshot) -> str:
            return (snapshot.volume_id or "") if tag is None else snapshot.tags[tag]

        return candidates_of_each(found, name_of=name_of, at=self.at, refusal=self.refusal, field=field)

    def of_candidates(
        self, candidates: Mapping[str, Sequence[Snapshot]], fields: Mapping[str, str], places: _Places
    ) -> list[Chosen]:
        """One snapshot of each volume, in order; those of an instance taken together if possible."""
        instances = {name: instance_id for name, (instance_id, _) in places.items()}
        chosen: dict[str, Chosen] = {}
        for group in together(candidates, instances):
            found = self._set({name: candidates[name] for name in group}, fields[group[0]])
            alone = len(group) == 1
            for name in group:
                chosen[name] = Chosen(
                    found.by_volume[name].snapshot,
                    f"the newest usable snapshot of {name}" if alone else found.reason,
                    device=places[name][1] if name in places else None,
                    consistent_set=None if alone else found.consistent,
                )
        return [chosen[name] for name in candidates]

    def _set(self, candidates: Mapping[str, Sequence[Snapshot]], field: str) -> SetSelection:
        choose = partial(newest_set, candidates, field=field, at=self.at, refusal=self.refusal)
        try:
            return choose()
        except (SnapshotNotFoundError, SnapshotNotUsableError):
            return choose(binned=self.snapshots.in_recycle_bin())  # for the error: what can be recovered


def _attachments(volumes: Iterable[Volume]) -> _Places:
    found: dict[str, tuple[str, str]] = {}
    for volume in volumes:
        attached = [(attachment.instance_id, attachment.device) for attachment in living(volume)]
        if attached:
            found[volume.volume_id] = min(attached)
    return found
