"""Addresses that the emulator answers with are AWS's names, and SAM's ARNs those of the Region's partition.

Why: the emulator has no port, since everything reaches it at AWS's names. A custom resource answers at the
ResponseURL of its request (CloudFormation user guide), and QueueUrl is `https://sqs.REGION…/ACCOUNT/NAME`.
SAM's transform keeps the Region in which a process has used it first.
"""

from __future__ import annotations

from samtranslator.translator.arn_generator import ArnGenerator

from local.aws.emulator import seam
from local.aws.region.settings import partition_of

CALLBACKS = "cloudformation-custom-resource-response"
"""The bucket for the answers of custom resources."""


def apply(region: str) -> None:
    """Mend the emulator's CloudFormation and SQS."""
    _partition, domain = partition_of(region)
    custom = seam.module("services.cloudformation.custom_resource")
    queues = seam.module("services.sqs")
    seam.known(custom, "_response_url", "{_gateway_url()}/_ministack/cfn-response/")
    seam.known(queues, "_queue_url_for_account", "{DEFAULT_HOST}:{DEFAULT_PORT}/{account_id}/{name}")

    def queue_url(account_id: str, name: str) -> str:
        return f"https://sqs.{region}.{domain}/{account_id}/{name}"

    seam.replace(custom, "_gateway_url", lambda: f"https://{CALLBACKS}.s3.{region}.{domain}")
    seam.replace(ArnGenerator, "BOTO_SESSION_REGION_NAME", region)
    seam.replace(queues, "_queue_url_for_account", queue_url)
