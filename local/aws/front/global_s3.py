"""S3 at a bucket's legacy global name, `<bucket>.s3.amazonaws.com`, which leads to us-east-1.

S3 user guide, "Virtual hosting of buckets" and "Request routing": a new bucket in another Region gets a
redirect to its Regional name, for up to 24 hours, until DNS leads there; in Regions that were launched after
20 March 2019 there is no redirect but 400 Bad Request. Here a bucket stays new for good. Public reports show
these headers and words, and that no signature is looked at before.
"""

from __future__ import annotations

from local.aws.front.addresses import Place
from local.aws.front.listener import HttpAnswer, HttpRequest
from local.aws.front.refusals import s3_error

REDIRECTING = frozenset(
    {
        "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1", "eu-central-1", "eu-west-1",
        "eu-west-2", "eu-west-3", "eu-north-1", "ap-south-1", "ap-northeast-1", "ap-northeast-2",
        "ap-northeast-3", "ap-southeast-1", "ap-southeast-2",
    }
)  # fmt: skip
"""Regions that are older: those that are enabled by default, without us-east-1 (AWS General Reference)."""


def elsewhere(request: HttpRequest, place: Place, region: str) -> HttpAnswer | None:
    """The answer for a bucket in this Region; None where the name leads to the right one."""
    if region == place.region:
        return None
    if region not in REDIRECTING:
        message = (
            f"The {region} location constraint is incompatible for the region specific endpoint this request "
            "was sent to."
        )
        return s3_error(request, 400, "IllegalLocationConstraintException", message)
    host = f"{place.bucket}.s3.{region}.amazonaws.com"
    query = f"?{request.query}" if request.query else ""
    return s3_error(
        request,
        307,
        "TemporaryRedirect",
        "Please re-send this request to the specified temporary endpoint. Continue to use the original "
        "request endpoint for future requests.",
        {"Endpoint": host, "Bucket": str(place.bucket)},
        {"x-amz-bucket-region": region, "Location": f"https://{host}{request.path}{query}"},
    )
