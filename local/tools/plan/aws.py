"""The facts from AWS itself, through the adapters that the functions use; every call here only reads."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast
from uuid import uuid4

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from local.tools.plan.offline import NoHistory
from local.tools.plan.options import Options
from local.tools.plan.request import body
from rewarm.adapters import clients
from rewarm.adapters.blocks.changed_blocks import EbsSnapshotBlocks
from rewarm.adapters.blocks.snapshot_blocks import THREADS
from rewarm.adapters.fast_restores import Ec2FastSnapshotRestores
from rewarm.adapters.hooks import SsmDocuments
from rewarm.adapters.instances import Ec2Instances
from rewarm.adapters.performance import CloudWatchMetrics
from rewarm.adapters.prices import AwsPrices
from rewarm.adapters.quotas import ServiceQuotas
from rewarm.adapters.snapshots import Ec2SnapshotCatalog
from rewarm.adapters.volumes import Ec2VolumeStore
from rewarm.contracts.plans import PlanResult
from rewarm.domain.errors import InvalidRequestError, TargetNotUsableError
from rewarm.steps.plan.plan_restore import PlanRestorePorts, plan_restore

RELEASED = {("linux", "x86_64"), ("linux", "arm64"), ("windows", "x86_64")}
"""What `make deploy` builds the agent for."""


def plan(options: Options, now: datetime) -> PlanResult:
    """The plan with facts from the account. Raises every error of POST /plans, and ConnectionError."""
    try:
        return _plan(options, now)
    except (BotoCoreError, ClientError) as error:
        raise ConnectionError(f"AWS could not be asked: {error}") from error


def _plan(options: Options, now: datetime) -> PlanResult:
    region = options.region or boto3.Session().region_name
    if region is None:
        raise InvalidRequestError(
            "is missing; allowed is a Region's name such as us-east-1", field="--region"
        )
    boto3.setup_default_session(region_name=region)
    ec2: Any = clients.client("ec2")
    return plan_restore(
        body(options),
        restore_id=f"plan-{uuid4().hex[:16]}",
        now=now,
        ports=PlanRestorePorts(
            snapshots=Ec2SnapshotCatalog(ec2, clients.block_list_client(THREADS), clients.client("kms")),
            instances=Ec2Instances(ec2, clients.client("ssm")),
            volumes=Ec2VolumeStore(ec2),
            artifacts=cast("Any", Released()),
            fast_restores=Ec2FastSnapshotRestores(ec2, clients.client("cloudwatch")),
            prices=AwsPrices(clients.price_list_client(), region),
            quotas=ServiceQuotas(clients.client("service-quotas"), ec2),
            blocks=EbsSnapshotBlocks(clients.block_list_client(1)),
            metrics=CloudWatchMetrics(clients.client("cloudwatch")),
            history=cast("Any", NoHistory()),
            table=cast("Any", NoTable()),
            documents=SsmDocuments(clients.client("ssm")),
            stack_name="",
        ),
    )


class Released:
    """Stands for the port Artifacts: which agents exist, without the bucket of a stack."""

    def agent(self, platform: str, architecture: str) -> tuple[str, str]:
        """Returns no key and no checksum. Raises TargetNotUsableError where no agent is built for it."""
        if (platform, architecture) not in RELEASED:
            raise TargetNotUsableError(f"there is no agent for {platform} on {architecture}")
        return "", ""

    def written(self, prefix: str, *, most: int) -> dict[str, datetime]:
        """Returns nothing: recordings of reads are in a stack's bucket."""
        del prefix, most
        return {}


class NoTable:
    """Stands for the port RestoreTable: no runbooks, because only a stack has them."""

    def runbook(self, alarm_name: str) -> None:
        """Returns None: the caller names what to restore."""
        del alarm_name
