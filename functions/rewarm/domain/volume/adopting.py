"""Whether a volume that is in use can be brought to full speed where it is, and whether it is already."""

from __future__ import annotations

from rewarm.domain.model import InitializationStatus, Instance, InstanceEbsLimits, Volume
from rewarm.domain.volume.leftovers import REWINDING_TAG
from rewarm.domain.volume.volume_types import VOLUME_TYPES

WARM_SINCE_TAG = "rewarm:warm-since"
"""On a volume that was adopted: since when it is known to be at full speed."""
BOTTLEROCKET = "bottlerocket"
"""Its SSM agent runs in a container without the host's block devices (Bottlerocket, "control container")."""
MADE_EMPTY = "it was made empty, and EBS loads only what volumes of snapshots have"


def volume_in_use_refusal(volume: Volume) -> str | None:
    """Why the volume cannot be warmed up where it is; None where it can."""
    name = volume.volume_id
    if len(volume.attachments) > 1:
        return (
            f"{name} is attached to {len(volume.attachments)} instances; allowed is a volume of one, whose "
            "agent reads it"
        )
    states = [place.state for place in volume.attachments]
    if states != ["attached"]:
        found = f"is {states[0]}" if states else "is attached to no instance"
        return f"{name} {found}; attach it first: an agent on its instance reads it"
    if not volume.attachments[0].instance_id:
        return f"{name} is attached to no instance of EC2 (a Fargate task may have it), so no agent reads it"
    kind = volume.settings.volume_type
    if kind not in VOLUME_TYPES:
        return f"{name} is of the type {kind}, whose reads are too slow to tell cold from warm"
    if volume.source_volume_id is not None:
        return (
            f"{name} is a copy of {volume.source_volume_id}, which EBS initializes by itself; AWS does not "
            "document that reads make that faster"
        )
    if REWINDING_TAG in volume.settings.tags:
        return f"{name} is being rewound by {volume.settings.tags[REWINDING_TAG]}, or was left halfway by it"
    return None


def agent_refusal(instance: Instance, limits: InstanceEbsLimits, *, agent_available: bool) -> str | None:
    """Why no agent can read the instance's volumes; None where one can."""
    name = instance.instance_id
    if instance.state != "running" or not instance.ssm_online:
        return (
            f"{instance.reach_in_words}, so no agent can read its volumes; allowed is a running instance "
            "with the SSM agent and the policy AmazonSSMManagedInstanceCore"
        )
    if BOTTLEROCKET in (instance.system or "").lower():
        return (
            f"{name} runs {instance.system}, whose SSM agent is in a container without the host's block "
            "devices; allowed is a node of Amazon Linux"
        )
    if not limits.nvme:
        return (
            f"{name} is a {instance.instance_type}, which has no NVMe: no program on it can tell which "
            "volume a device is"
        )
    if not agent_available:
        return f"there is no agent for {instance.platform} on {instance.architecture}, which {name} is"
    return None


def warm_already(volume: Volume, status: InitializationStatus) -> str | None:
    """Why the volume is taken to be warm, as a clause; random reads check what EBS says."""
    if volume.fast_restored:
        return "EBS made it with fast snapshot restore, and says that it has every block"
    if status.state == "completed" and status.progress_percent in {None, 100}:
        return "EBS says that its initialization is completed"
    return None
