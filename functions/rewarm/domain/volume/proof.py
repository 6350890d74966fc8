"""What proves that a thing is this stack's own: what its record says, and when EC2 made it.

A tag proves nothing, because whoever may create tags can put ours on anything. It leads to a record, and the
record decides. Without a proof nothing is deleted, moved, lowered or tagged; people get the command instead.
And what an instance says of a volume counts only if it names that volume.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from rewarm.domain.model import Snapshot, Volume
from rewarm.domain.units import iso, shown
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import ATTEMPT_TAG, EVIDENCE_TAG, INDEX_TAG, RESTORE_TAG
from rewarm.domain.volume.performance import performance_of

CREATION_TAG = "rewarm:creation"
"""Set by the call that makes a thing, and never later. On a volume it has the chance value of its record."""
CLOCKS_APART = timedelta(minutes=1)
"""How far EC2's clock may be from that of Step Functions, which dates records. Usual is under a second."""
LONGEST_CREATION = timedelta(hours=2)
"""The state's retries come to some 70 minutes (statemachine/blocks.yaml). After a redrive it may take longer,
and then a volume whose id was lost is not proven any more.
"""
RECORDS_LAST = timedelta(days=400)
"""What is older may have lost its record to time (adapters/table/restores.py: RESTORE_SECONDS)."""


class Creation(Value):
    """What the record of a volume said before EC2 was asked for it."""

    asked_at: datetime
    key: str
    """A random value. Only those who have seen the volume or the record can know it."""
    origin: str | None
    """The snapshot or the source volume; None for the empty volume of a direct write."""
    zone: str
    boost_target: str | None = None
    """What the volume goes back to, where it gets more than that at first."""

    def is_before(self, volume: Volume) -> bool:
        """False for a volume that was there when EC2 was asked."""
        return volume.created_at >= self.asked_at - CLOCKS_APART

    def may_have_made(self, volume: Volume) -> bool:
        """Whether the key matches, and what no tag changes: time, origin and zone. It is attached only once
        its id is in the record.
        """
        return (
            volume.settings.tags.get(CREATION_TAG) == self.key
            and self.is_before(volume)
            and volume.created_at <= self.asked_at + LONGEST_CREATION
            and (volume.source_volume_id or volume.snapshot_id) == self.origin
            and volume.availability_zone == self.zone
            and not volume.attachments
        )


def proven(
    volumes: Iterable[Volume], made: Mapping[str, str], creations: Mapping[str, Creation]
) -> dict[str, Volume]:
    """Those that the restore made, by the attempt that made each.

    `made` is the record's: the id for each attempt. Where the answer of CreateVolume was lost it has none.
    Then the volume with the creation's key is ours, if there is only one: somebody may copy the key.
    """
    attempts = {volume_id: attempt for attempt, volume_id in made.items()}
    found: dict[str, list[Volume]] = {}
    for volume in volumes:
        attempt = attempts.get(volume.volume_id)
        if attempt is None:
            for open_attempt in creations.keys() - made.keys():
                if creations[open_attempt].may_have_made(volume):
                    found.setdefault(open_attempt, []).append(volume)
        elif attempt not in creations or creations[attempt].is_before(volume):
            found[attempt] = [volume]
    return {attempt: alike[0] for attempt, alike in found.items() if len(alike) == 1}


def evidence_description(volume_id: str, tags: Mapping[str, str]) -> str:
    """The description of a volume's snapshot before a rewind. As for a copy, no call changes it."""
    of = f"volume {tags[INDEX_TAG]} of {tags[RESTORE_TAG]}, attempt {tags[ATTEMPT_TAG]}"
    return f"{volume_id} before it goes back to {tags[EVIDENCE_TAG]}: {of}"


def is_evidence(snapshot: Snapshot, restore_id: str, index: int) -> bool:
    """Whether this rewind made the snapshot, for any of its attempts and whatever its tags say now."""
    description = snapshot.description or ""
    return (
        description.startswith(f"{snapshot.volume_id} before it goes back to ")
        and f": volume {index} of {restore_id}, attempt " in description
    )


def copy_description(snapshot_id: str, region: str, restore_id: str, index: int) -> str:
    """The description of a copy of another Region's snapshot. EC2 takes it from the call that makes a
    snapshot, and no call changes it (botocore: ec2 ModifySnapshotAttribute): unlike a tag it proves who has
    made the copy.
    """
    return f"Copy of {snapshot_id} in {region} for volume {index} of {restore_id}"


def own_copies(
    tagged: Iterable[Snapshot], known_id: str | None, description: str, asked_at: datetime
) -> Iterator[Snapshot]:
    """Those that the record names, made after EC2 was asked, and those that a call of ours described."""
    for snapshot in tagged:
        is_new = snapshot.started_at >= asked_at - CLOCKS_APART
        if snapshot.description == description or (snapshot.snapshot_id == known_id and is_new):
            yield snapshot


def could_be_of(made_at: datetime, since: datetime, until: datetime) -> bool:
    """Whether a thing was made while its restore ran, by the restore's times."""
    return since - CLOCKS_APART <= made_at <= until + CLOCKS_APART


def unproven_volume(volume: Volume, why: str) -> str:
    """For people, who decide: what it is, what it costs and how it is removed."""
    places = "".join(f", attached to {attachment.instance_id}" for attachment in volume.attachments)
    return (
        f"{why}; {volume.settings.size_gib} GiB of {performance_of(volume.settings).in_words}, made at "
        f"{iso(volume.created_at)}{places}, are billed until it is deleted; it may be somebody else's; if "
        f"nobody needs it: aws ec2 delete-volume --volume-id {volume.volume_id}"
    )


def unproven_snapshot(snapshot: Snapshot, why: str) -> str:
    """The same for a snapshot."""
    return (
        f"{why}; the blocks of this snapshot of {snapshot.size_gib} GiB, made at {iso(snapshot.started_at)}, "
        f"are billed until it is deleted; it may be somebody else's; if nobody needs it: aws ec2 "
        f"delete-snapshot --snapshot-id {snapshot.snapshot_id}"
    )


def to_hear_no_more(name: str) -> str:
    """The end of a sentence: the command for whoever wants to keep it."""
    return f"; to hear no more of it: aws ec2 delete-tags --resources {name} --tags Key=rewarm:stack"


def wrong_volume(account: Mapping[str, Any], volume_id: str) -> str | None:
    """Which other volume an account is about, as a clause; None if it is about the one that was asked for.

    Every release of the agent names the volume, by the device's own serial number where it reads one.
    """
    found = account.get("volumeId")
    if found == volume_id:
        return None
    return (
        f"it worked on {shown(found) if found else 'a device that names no volume'}, and not on {volume_id}"
    )
