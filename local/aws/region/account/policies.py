"""Who makes snapshots besides people: nobody, in an account where no policy and no backup plan was made."""

from __future__ import annotations

from local import Json
from local.aws.region.errors import ApiError
from local.aws.region.operations import operation


class SnapshotPolicies:
    """GetLifecyclePolicies of Data Lifecycle Manager, and DescribeProtectedResource of AWS Backup."""

    @operation("dlm", "GetLifecyclePolicies")
    def get_lifecycle_policies(self, params: Json) -> Json:
        """None."""
        return {"Policies": []}

    @operation("backup", "DescribeProtectedResource")
    def describe_protected_resource(self, params: Json) -> Json:
        """ResourceNotFoundException: AWS Backup has saved nothing."""
        raise ApiError("ResourceNotFoundException", f"No protected resource {params['ResourceArn']}.", 404)
