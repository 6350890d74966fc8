"""CreateTags, DeleteTags and DescribeTags (botocore ec2)."""

from __future__ import annotations

from local import Json
from local.aws.region.core import Core, refuse_dry_run
from local.aws.region.errors import ApiError
from local.aws.region.filters import Getter, keep_matching, page
from local.aws.region.operations import operation
from local.aws.region.tables import Tables
from local.aws.region.volumes.volume_requests import read_tags

MAX_TAGS = 50
RESOURCE_TYPES = {"vol": "volume", "snap": "snapshot", "i": "instance", "ami": "image"}


class Tags:
    """Tags of volumes, snapshots, instances and images."""

    def __init__(self, core: Core, tables: Tables) -> None:
        self._core = core
        self._tables = tables

    @operation("ec2", "CreateTags")
    def create_tags(self, params: Json) -> Json:
        """Add tags, or replace the values of tags that are there; all resources or none."""
        added = read_tags(params["Tags"])
        targets = [self._tables.tags_of(resource) for resource in params["Resources"]]
        if any(len({**tags, **added}) > MAX_TAGS for tags in targets):
            raise ApiError("TagLimitExceeded", f"A resource has at most {MAX_TAGS} tags")
        refuse_dry_run(params)
        for tags in targets:
            tags.update(added)
        return {}

    @operation("ec2", "DeleteTags")
    def delete_tags(self, params: Json) -> Json:
        """Remove tags by key, or by key and value; without any tag named, all of them."""
        targets = [self._tables.tags_of(resource) for resource in params["Resources"]]
        refuse_dry_run(params)
        for tags in targets:
            for pair in params.get("Tags") or [{"Key": key} for key in tags]:
                if "Value" not in pair or tags.get(pair["Key"]) == pair["Value"]:
                    tags.pop(pair.get("Key", ""), None)
        return {}

    @operation("ec2", "DescribeTags")
    def describe_tags(self, params: Json) -> Json:
        """Every tag of every resource."""
        refuse_dry_run(params)
        rows = keep_matching(self._rows(), params.get("Filters"), _filters(params))
        rows, token = page(rows, params, scope="tags", low=5)
        return {"Tags": rows, "NextToken": token}

    def _rows(self) -> list[Json]:
        tables = (self._tables.volumes, self._tables.snapshots, self._tables.instances, self._tables.images)
        return [
            {"ResourceId": one, "ResourceType": RESOURCE_TYPES[one.split("-")[0]], "Key": key, "Value": value}
            for table in tables
            for one in table
            for key, value in sorted(table[one].tags.items())
        ]


def _filters(params: Json) -> dict[str, Getter[Json]]:
    getters: dict[str, Getter[Json]] = {
        "key": lambda row: row["Key"],
        "resource-id": lambda row: row["ResourceId"],
        "resource-type": lambda row: row["ResourceType"],
        "value": lambda row: row["Value"],
    }
    for one in params.get("Filters") or ():
        name = str(one.get("Name", ""))
        if name.startswith("tag:"):
            getters[name] = lambda row, key=name[4:]: row["Value"] if row["Key"] == key else None  # type: ignore[misc]
    return getters
