"""Whether a volume that is in use can be brought to full speed where it is, and whether it is already."""

from __future__ import annotations

from rewarm.domain.model import InitializationStatus, Instance, InstanceEbsLimits, Volume
from rewarm.domain.value import Value
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.domain.volume.volume_types import VOLUME_TYPES

WARM_SINCE_TAG = "rewarm:warm-since"
"""On a volume that was adopted: since when it is known to be at full speed."""
BOTTLEROCKET = "bottlerocket"
"""Its SSM agent runs in a container without the host's block devices (Bottlerocket, "control container")."""
MADE_EMPTY = "it was made empty, and EBS loads only what volumes of snapshots have"


class Obstacle(Value):
    """What keeps a volume from being warmed up where it is."""

    reason: str
    may_pass: bool = False
    """Whether it may pass: the volume is attached soon, or its instance comes online."""


def volume_in_use_refusal(volume: Volume) -> Obstacle | None:
    """Why the volume cannot be warmed up where it is; None where it can."""
    name = volume.volume_id
    kind = volume.settings.volume_type
    places = volume.attachments
    states = [place.state for place in places]
    if len(places) > 1:
        reason = f"is attached to {len(places)} instances; allowed is a volume of one, whose agent reads it"
    elif kind not in VOLUME_TYPES:
        reason = f"is of the type {kind}, whose reads are too slow to tell cold from warm"
    elif volume.source_volume_id is not None:
        reason = (
            f"is a copy of {volume.source_volume_id}, which EBS initializes by itself; AWS does not document "
            "that reads make that faster"
        )
    elif REWINDING_TAG in volume.settings.tags:
        reason = f"is being rewound by {volume.settings.tags[REWINDING_TAG]}, or was left halfway by it"
    elif states != ["attached"]:
        found = f"is {states[0]}" if states else "is attached to no instance"
        return Obstacle(f"{name} {found}; attach it first: an agent on its instance reads it", may_pass=True)
    elif not places[0].instance_id:
        reason = "is attached to no instance of EC2 (a Fargate task may have it), so no agent reads it"
    else:
        return None
    return Obstacle(f"{name} {reason}")


def agent_refusal(instance: Instance, limits: InstanceEbsLimits, *, agent_available: bool) -> Obstacle | None:
    """Why no agent can read the instance's volumes; None where one can."""
    name = instance.instance_id
    if instance.state != "running" or not instance.ssm_online:
        return Obstacle(
            f"{instance.reach_in_words}, so no agent can read its volumes; allowed is a running instance "
            "with the SSM agent and the policy AmazonSSMManagedInstanceCore",
            may_pass=not instance.is_gone,
        )
    if BOTTLEROCKET in (instance.system or "").lower():
        return Obstacle(
            f"{name} runs {instance.system}, whose SSM agent is in a container without the host's block "
            "devices; allowed is a node of Amazon Linux"
        )
    if not limits.nvme:
        return Obstacle(
            f"{name} is a {instance.instance_type}, which has no NVMe: no program on it can tell which "
            "volume a device is"
        )
    if not agent_available:
        return Obstacle(
            f"there is no agent for {instance.platform} on {instance.architecture}, which {name} is"
        )
    return None


def seconds_to_next_look(waited_seconds: float) -> int:
    """Seconds to the next look at an unattached volume: a quarter of the wait so far, up to 5 minutes."""
    return round(min(300.0, max(5.0, waited_seconds / 4)))


def warm_already(volume: Volume, status: InitializationStatus) -> str | None:
    """Why the volume is taken to be warm, as a clause; random reads check what EBS says."""
    if volume.fast_restored:
        return "EBS made it with fast snapshot restore, and says that it has every block"
    if status.state == "completed" and status.progress_percent in {None, 100}:
        return "EBS says that its initialization is completed"
    return None
