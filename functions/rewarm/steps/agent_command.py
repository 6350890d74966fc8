"""The command that runs the warm-up agent: parameters of the SSM document, for warming and for measuring."""

from __future__ import annotations

from dataclasses import dataclass

from rewarm.contracts import VolumeAssignment
from rewarm.domain.errors import AgentUnreachableError, TargetNotUsableError
from rewarm.ports import Artifacts, Commands, Instances

DELIVERY_SECONDS = 300
"""SSM tries for so long to reach the instance (botocore: ssm SendCommand TimeoutSeconds, at least 30)."""
MIN_EXECUTION_SECONDS = 600
MAX_EXECUTION_SECONDS = 172_800
"""Systems Manager user guide, aws:runShellScript: at most 48 h; more silently becomes 3,600 s."""
MAX_URL_SECONDS = 604_800
"""Amazon S3 user guide, "Presigned URLs": seven days at most."""


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """What the agent is to do. Without `progress_key` it tells nothing before its end."""

    action: str
    arguments: str
    execution_seconds: int
    progress_key: str | None = None


@dataclass(frozen=True, slots=True)
class AgentPorts:
    """What it takes to reach the agent."""

    commands: Commands
    instances: Instances
    artifacts: Artifacts


def send(
    command: AgentCommand, volume: VolumeAssignment, volume_id: str, restore_id: str, ports: AgentPorts
) -> str:
    """The command's id. Raises AgentUnreachableError, TargetNotUsableError."""
    instance_id, platform, architecture = volume.instance_id, volume.platform, volume.architecture
    if instance_id is None or platform is None or architecture is None:
        raise TargetNotUsableError(
            "there is no instance on which the agent could run", field="target.instanceId"
        )
    if not ports.instances.get(instance_id).ssm_online:
        raise AgentUnreachableError(f"{instance_id} is not online in Systems Manager")
    key, sha256 = ports.artifacts.agent(platform, architecture)
    execution_seconds = max(MIN_EXECUTION_SECONDS, min(MAX_EXECUTION_SECONDS, command.execution_seconds))
    expires = min(MAX_URL_SECONDS, DELIVERY_SECONDS + execution_seconds)
    progress_url = "none"
    if command.progress_key is not None:
        progress_url = ports.artifacts.upload_url(command.progress_key, expires_seconds=expires)
    parameters = {
        "action": command.action,
        "volumeId": volume_id,
        "agentUrl": ports.artifacts.download_url(key, expires_seconds=expires),
        "agentSha256": sha256,
        "mapUrl": ports.artifacts.download_url(volume.map_key, expires_seconds=expires),
        "progressUrl": progress_url,
        "arguments": command.arguments,
        "executionTimeout": str(execution_seconds),
    }
    return ports.commands.send(
        instance_id,
        parameters,
        platform=platform,
        comment=f"rewarm {command.action} {volume_id} for {restore_id}"[:100],
        timeout_seconds=DELIVERY_SECONDS,
    )
