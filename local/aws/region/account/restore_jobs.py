"""Restore jobs of AWS Backup as its restore testing leaves them, and the verdicts on them.

A test makes the job, because no plan of AWS Backup runs here. A verdict that was put stays: AWS documents no
second one, and whoever tried reports that it is refused.
"""

from __future__ import annotations

import uuid

from local import Json
from local.aws.region.core import Core, stamp
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation

VERDICTS = frozenset({"SUCCESSFUL", "FAILED", "TIMED_OUT"})


class RestoreJobs:
    """The jobs of one Region, by id."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._jobs: dict[str, Json] = {}

    def add(self, volume_id: str, plan: str | None = "nightly") -> Json:
        """A job that has restored the volume, for a testing plan or for a person; the event's detail."""
        job: Json = {
            "RestoreJobId": str(uuid.uuid4()).upper(),
            "AccountId": self._core.settings.account_id,
            "Status": "COMPLETED",
            "PercentDone": "100.00%",
            "ResourceType": "EBS",
            "CreatedResourceArn": self._core.arn(f"volume/{volume_id}"),
            "CreationDate": stamp(self._core.now() - 60.0),
            "CompletionDate": stamp(self._core.now()),
        }
        if plan is not None:
            arn = self._core.arn(f"restore-testing-plan:{plan}", "backup")
            job["CreatedBy"] = {"RestoreTestingPlanArn": arn}
        self._jobs[job["RestoreJobId"]] = job
        detail = {name[0].lower() + name[1:]: job[name] for name in ("RestoreJobId", "CreatedResourceArn")}
        return {**detail, "status": "COMPLETED", "resourceType": "EBS", **_plan_of(job)}

    @operation("backup", "DescribeRestoreJob")
    def describe_restore_job(self, params: Json) -> Json:
        """The job; ResourceNotFoundException."""
        return dict(self._job(params["RestoreJobId"]))

    @operation("backup", "PutRestoreValidationResult")
    def put_restore_validation_result(self, params: Json) -> Json:
        """Keeps the first verdict."""
        job = self._job(params["RestoreJobId"])
        if job.get("ValidationStatus") in VERDICTS:
            raise ApiError("InvalidRequestException", "The restore job has a validation result already.")
        job["ValidationStatus"] = params["ValidationStatus"]
        job["ValidationStatusMessage"] = params.get("ValidationStatusMessage")
        return {}

    def _job(self, job_id: str) -> Json:
        if job_id not in self._jobs:
            raise ApiError("ResourceNotFoundException", f"No restore job {job_id}.", 404)
        return self._jobs[job_id]


def _plan_of(job: Json) -> Json:
    made_by = job.get("CreatedBy")
    return {"restoreTestingPlanArn": made_by["RestoreTestingPlanArn"]} if made_by else {}
