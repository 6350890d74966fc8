"""CreateReplaceRootVolumeTask with a volume (botocore ec2; EC2 user guide, "Replace the root volume").

The instance is rebooted, and comes back with the other volume as its root.
"""

from __future__ import annotations

from dataclasses import dataclass

from local import Json
from local.aws.region.commands.instances import Instances
from local.aws.region.core import Core, iso, new_id, refuse_dry_run
from local.aws.region.errors import ApiError, invalid, missing
from local.aws.region.faults import Faults
from local.aws.region.filters import Getter, keep_matching, page, tag_list
from local.aws.region.operations import operation
from local.aws.region.resources import Attachment, Instance, Volume
from local.aws.region.tables import Tables
from local.aws.region.volumes.attachments import Attachments
from local.aws.region.volumes.volume_requests import tags_for
from local.aws.region.volumes.volumes import Volumes

UNDER_WAY = ("pending", "in-progress")
DETACHED = "failed-detached"
"""The task has failed, and the instance has no root volume: the code of a fault that ends so."""
NOT_MODELLED = ("SnapshotId", "ImageId", "VolumeInitializationRate")


@dataclass(slots=True)
class Task:
    """Shape ReplaceRootVolumeTask of botocore."""

    task_id: str
    instance: Instance
    volume: Volume
    asked: Json
    start: float
    tags: dict[str, str]
    state: str = "pending"
    complete: float | None = None

    def describe(self) -> Json:
        """The task as EC2 shows it."""
        return {
            "ReplaceRootVolumeTaskId": self.task_id,
            "InstanceId": self.instance.instance_id,
            "TaskState": self.state,
            "StartTime": iso(self.start),
            "CompleteTime": None if self.complete is None else iso(self.complete),
            "Tags": tag_list(self.tags),
            "DeleteReplacedRootVolume": bool(self.asked.get("DeleteReplacedRootVolume")),
        }


class RootReplacements:
    """Tasks that put a volume in the place of an instance's root volume."""

    def __init__(
        self,
        core: Core,
        tables: Tables,
        volumes: Volumes,
        attachments: Attachments,
        instances: Instances,
        faults: Faults,
    ) -> None:
        self._core = core
        self._tables = tables
        self._volumes = volumes
        self._attachments = attachments
        self._instances = instances
        self._faults = faults
        self._tasks: dict[str, Task] = {}

    @operation("ec2", "CreateReplaceRootVolumeTask")
    def create_task(self, params: Json) -> Json:
        """Begin to replace; the same client token does it only once."""
        asked = {key: value for key, value in params.items() if key != "DryRun"}
        token = asked.get("ClientToken")
        tasks = self._tasks.values()
        known = next((one for one in tasks if token and one.asked.get("ClientToken") == token), None)
        if known is not None and known.asked != asked:
            raise ApiError("IdempotentParameterMismatch", f"The client token '{token}' was used otherwise")
        if known is None:
            known = self._begin(params, asked)
        return {"ReplaceRootVolumeTask": known.describe()}

    @operation("ec2", "DescribeReplaceRootVolumeTasks")
    def describe_tasks(self, params: Json) -> Json:
        """Tasks by id and instance, in pages."""
        refuse_dry_run(params)
        wanted = params.get("ReplaceRootVolumeTaskIds") or list(self._tasks)
        unknown = [task_id for task_id in wanted if task_id not in self._tasks]
        if unknown:
            raise ApiError(
                self._core.settings.root_task_error_code, f"The task ID '{unknown[0]}' does not exist"
            )
        items = [self._tasks[task_id] for task_id in wanted]
        filters: dict[str, Getter[Task]] = {"instance-id": lambda one: one.instance.instance_id}
        items = keep_matching(items, params.get("Filters"), filters)
        items, token = page(items, params, scope="replace-root", high=50)
        return {"ReplaceRootVolumeTasks": [item.describe() for item in items], "NextToken": token}

    def _begin(self, params: Json, asked: Json) -> Task:
        instance = self._tables.instance(params["InstanceId"])
        others = [name for name in NOT_MODELLED if params.get(name)]
        if others:
            raise ApiError("UnsupportedOperation", f"{others[0]} is not modelled by this Region")
        if not params.get("VolumeId"):
            raise missing("VolumeId")
        volume = self._tables.volume(params["VolumeId"])
        self._check(instance, volume)
        tags = tags_for(params.get("TagSpecifications"), "replace-root-volume-task")
        refuse_dry_run(params)
        task = Task(new_id("replacevol"), instance, volume, asked, self._core.now(), tags)
        self._tasks[task.task_id] = task
        self._core.at(task.start + self._core.settings.root_pending_seconds, lambda _due: self._swap(task))
        return task

    def _check(self, instance: Instance, volume: Volume) -> None:
        """botocore, CreateReplaceRootVolumeTaskRequest: what the instance and the volume must be."""
        busy = any(one.instance is instance and one.state in UNDER_WAY for one in self._tasks.values())
        if instance.state != "running" or busy:
            state = "having its root volume replaced" if busy else instance.state
            raise ApiError("IncorrectInstanceState", f"The instance '{instance.instance_id}' is {state}")
        root = self._root(instance)
        if root is None:
            raise invalid(f"The instance '{instance.instance_id}' has no root volume")
        if volume.state != "available":
            raise ApiError("IncorrectState", f"Volume '{volume.volume_id}' is not 'available'.")
        if volume.zone != instance.zone:
            raise ApiError(
                "InvalidVolume.ZoneMismatch",
                f"The volume '{volume.volume_id}' is not in the zone of '{instance.instance_id}'",
            )
        if root[0].encrypted and not volume.encrypted:
            raise invalid(f"The volume '{volume.volume_id}' must be encrypted, as the root volume is")

    def _swap(self, task: Task) -> None:
        """The instance goes down; its root volume leaves, and the other one takes its place."""
        task.state = "in-progress"
        instance, volume = task.instance, task.volume
        rule = self._faults.take(
            "root:replacement", {"InstanceId": instance.instance_id}, effects=("error", "stall")
        )
        if rule is not None and rule.effect == "stall":
            return
        root, fails = self._root(instance), rule is not None and rule.code != DETACHED
        if root is None or fails or instance.state != "running" or volume.state != "available":
            self._end(task, "failed")
            return
        self._instances.reboot(instance)
        device, goes_along = root[1].device, root[1].delete_on_termination
        self._leave(*root, delete=bool(task.asked.get("DeleteReplacedRootVolume")) and rule is None)
        if rule is not None:
            self._end(task, DETACHED)
            return
        made = self._attachments.attach(volume, instance, device, at_once=True)
        made.delete_on_termination = goes_along
        self._core.at(instance.online_at, lambda _due: self._end(task, "succeeded"))

    def _leave(self, volume: Volume, attachment: Attachment, *, delete: bool) -> None:
        """The root volume of an instance that is down leaves it at once."""
        self._attachments.leave(volume, attachment)
        volume.state = "available"
        if volume.has_data:
            plane, instance_id = self._core.dataplane, attachment.instance_id
            self._core.later(lambda: plane.detach_volume(volume.volume_id, instance_id))
        if delete:
            self._volumes.delete(volume)

    def _end(self, task: Task, state: str) -> None:
        task.state, task.complete = state, self._core.now()

    def _root(self, instance: Instance) -> tuple[Volume, Attachment] | None:
        for volume in self._tables.volumes.values():
            attachment = volume.attachments.get(instance.instance_id)
            if attachment is not None and attachment.device == instance.root_device:
                return volume, attachment
        return None
