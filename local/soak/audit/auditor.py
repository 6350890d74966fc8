"""Is anything left? What exists and what the meter counts; what stays must have a reason."""

from __future__ import annotations

from local import Json
from local.soak.audit import applications
from local.soak.audit.adoptions import AdoptionAudit
from local.soak.audit.collateral_damage import CollateralDamage
from local.soak.audit.messages import SentMessages
from local.soak.audit.outside import OutsideHandsAudit
from local.soak.audit.rewinds import RewindAudit
from local.soak.audit.table_items import TableItems, records
from local.soak.lab.endings import FLEET, RESTORE, VOLUME, Ending
from local.soak.lab.lab import FastLab
from rewarm.domain.volume.leftovers import DRILL_TAG, REWINDING_TAG
from rewarm.domain.volume.performance import PerformanceSettings, parse_performance
from rewarm.domain.volume.replacing import STARTED_TAG

STOOD_STILL_SECONDS = 1_000.0
"""One sweep. What is billed by the hour at least is found by its being there."""


class Auditor:
    """Looks at a lab before and after."""

    def __init__(self, lab: FastLab) -> None:
        self._lab = lab
        self._outside = OutsideHandsAudit(lab)

    def findings(self, ending: Ending) -> list[str]:
        """Everything that is left and should not be; virtual time passes meanwhile."""
        self._outside = OutsideHandsAudit(self._lab)
        found = [
            *self._stuck(),
            *self._outside.findings(ending.ready),
            *self._volumes(ending),
            *self._started(),
            *self._fast_restores(),
            *self._commands(),
            *applications.findings(self._lab),
            *TableItems(self._lab).findings(),
            *self._objects(ending),
            *self._cold(ending),
            *self._not_rewound(ending),
            *self._failed_when_settled(),
            *CollateralDamage(self._lab).findings(),
            *AdoptionAudit(self._lab).findings(),
            *SentMessages(self._lab).findings(),
        ]
        return found or self._meter(ending)

    # --------------------------------------------------------------------------------- what is still there
    def _stuck(self) -> list[str]:
        found = [f"execution {one.name} is still in {one.state}" for one in self._lab.states.running()]
        tokens = [token for token, waiting in self._lab.states._tokens.items() if not waiting.done]
        return found + [f"the token {token} is waited for" for token in tokens]

    def _alive(self) -> dict[str, Json]:
        """All volumes with their tags, by id."""
        volumes = self._lab.region.call("ec2", "DescribeVolumes", {})["Volumes"]
        return {
            one["VolumeId"]: {**one, "tags": {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])}}
            for one in volumes
            if one["State"] not in ("deleting", "deleted")
        }

    def _made(self) -> list[Json]:
        """Volumes that Rewarm has made."""
        return [
            one
            for name, one in self._alive().items()
            if "rewarm:restore-id" in one["tags"] and not self._outside.is_copy(name)
        ]

    def _is_lowered(self, volume: Json) -> bool:
        """Without its item Rewarm cannot know that the volume is its own: the tag stays, a boost is named."""
        if self._outside.is_told_unproven(volume["VolumeId"]):
            return True
        target = parse_performance(volume["tags"]["rewarm:boost"])
        found = PerformanceSettings(volume["VolumeType"], volume.get("Iops"), volume.get("Throughput"))
        return self._outside.is_lost(volume["tags"]["rewarm:restore-id"]) and target.fits(found)

    def _volumes(self, ending: Ending) -> list[str]:
        found = []
        for one in self._made():
            name, tags = one["VolumeId"], one["tags"]
            if self._outside.is_named(name):
                continue
            # Without the stack's tag Rewarm may not remove this one; what is billed is looked at besides.
            if "rewarm:boost" in tags and not self._outside.is_untagged(name) and not self._is_lowered(one):
                found.append(f"volume {name} still has its boost")
            restore_id = tags["rewarm:restore-id"]
            is_told = self._outside.is_told_to_stay(name, restore_id) or self._is_held(name)
            has_reason = "rewarm:failed" in tags or is_told
            if DRILL_TAG in tags and not has_reason:
                found.append(f"volume {name} of the drill {restore_id} stays")
            elif name not in ending.ready and not has_reason and not self._came_in_time(name):
                found.append(f"volume {name} of {restore_id} stays without a reason")
        there = self._alive()
        found += [
            f"volume {name} is at full speed and still marked as being written"
            for name in ending.ready
            if name in there
            and self._is_ready(there[name]["tags"].get(REWINDING_TAG))
            and not self._outside.is_told_marked(name)
        ]
        found += [
            f"volume {name} is reported as ready and does not exist"
            for name in ending.ready
            if name not in {*there, *AdoptionAudit(self._lab).adopted()}
            and not self._outside.is_untagged(name)
            and not self._was_of_drill(name)
            and not self._outside.went_with_its_instance(name)
        ]
        return found

    def _is_ready(self, restore_id: str | None) -> bool:
        """A volume that is ready may be marked by a later restore, which has failed."""
        return (
            restore_id is not None
            and self._lab.api("GET", f"/restores/{restore_id}")[1].get("status") == "ready"
        )

    def _was_of_drill(self, volume_id: str) -> bool:
        gone = self._lab.region._tables.gone_volumes
        return volume_id in gone and DRILL_TAG in gone[volume_id].tags

    def _is_held(self, volume_id: str) -> bool:
        """Somebody has mounted the volume, so EC2 cannot detach it, and a message says that it is left."""
        said = f"{volume_id} is still being detached"
        told = (one["detail"]["text"].partition("Left behind: ")[2] for one in self._lab.events.sent)
        return volume_id in self._lab.data_plane.mounted and any(said in one for one in told)

    def _came_in_time(self, volume_id: str) -> bool:
        """Its restore was stopped when it was at full speed, and a message says so, or that it stays."""
        told = [str(one) for one in (*self._lab.slack, *self._lab.events.sent)]
        stays = ("Left behind: " in one and f"volume {volume_id} (ready)" in one for one in told)
        return any(stays) or self._outside.is_announced(volume_id)

    def _started(self) -> list[str]:
        """Instances on their way up: none is, once the restore is over."""
        filters = [{"Name": "tag-key", "Values": [STARTED_TAG]}]
        shown = self._lab.region.call("ec2", "DescribeInstances", {"Filters": filters})["Reservations"]
        names = [one["Instances"][0]["InstanceId"] for one in shown]
        return [f"{name} has the tag {STARTED_TAG}" for name in names if not self._outside.is_copy(name)]

    def _fast_restores(self) -> list[str]:
        return [
            f"fast snapshot restore of {fastRestore}"
            for fastRestore in self._lab.region.inventory()["fastRestores"]
            if not self._outside.is_alarmed(fastRestore)
        ]

    def _commands(self) -> list[str]:
        return [f"command {command} runs" for command in self._lab.region.inventory()["commands"]]

    def _objects(self, ending: Ending) -> list[str]:
        names = self._lab.buckets[self._lab.stack.buckets[0]]
        begun = [execution.name for execution in self._lab.executions(RESTORE)]
        fleets = [one.input["fleetId"] for one in self._lab.executions(FLEET) if not one.is_child]
        restores = (*ending.restore_ids, *begun, *fleets, *records(self._lab))
        known = [
            name for one in restores for name in (f"restores/{one}/", f"benchmarks/{one}-", f"undo/{one}/")
        ]
        # S3 deletes packs after a day, whatever became of the copy.
        return [
            f"object {key}"
            for key in list(names)
            if not key.startswith(("agents/", "deltas/", "rewound/", "recordings/", *known))
        ]

    def _cold(self, ending: Ending) -> list[str]:
        """A ready volume has every block that was asked for; the data plane knows."""
        volumes = self._lab.data_plane.volumes
        return [
            f"volume {name} is reported as ready and {volumes[name].cold_share:.0%} of it is cold"
            for name in ending.ready
            if name in volumes and volumes[name].cold_share > 0
        ]

    def _not_rewound(self, ending: Ending) -> list[str]:
        """A volume that went back has what the snapshot has, and what it had is kept."""
        restores = ending.restore_ids or [one.name for one in self._lab.executions(RESTORE)]
        return list(RewindAudit(self._lab).findings(restores))

    def _failed_when_settled(self) -> list[str]:
        """A restore whose volumes are all at full speed has not failed, whatever has ended since.

        A volume whose execution says by itself why it failed was deleted; a drill deletes its volumes.
        """
        gave_account = {one.name for one in self._lab.executions(VOLUME) if one.state == "Volume Failed"}
        found = []
        for name, row in records(self._lab).items():
            indexes = range(int(row.get("volumeCount") or 0))
            is_settled = bool(indexes) and all(row.get(f"settled{index}") for index in indexes)
            is_excused = any(f"{name}-{index}" in gave_account for index in indexes)
            if row.get("status") == "failed" and is_settled and not is_excused and not _is_drill(row):
                found.append(f"{name} is failed, and all of its volumes are at full speed")
        return found

    # ------------------------------------------------------------------------------------------- the meter
    def _meter(self, ending: Ending) -> list[str]:
        """Nothing still costs money but the storage of what stays."""
        before = self._items()
        self._lab.pass_time(STOOD_STILL_SECONDS)
        stays = {one["VolumeId"] for one in self._made()}
        ours = stays | set(ending.ready)
        found = []
        for key, usd in self._items().items():
            resource, kind = key
            grown = usd - before.get(key, 0.0)
            if grown > 1e-9 and not (kind == "storage" and (resource in ours or self._is_foreign(resource))):
                found.append(
                    f"the meter of {kind} of {resource} runs: {grown:.6f} USD in {STOOD_STILL_SECONDS:.0f} s"
                )
        return found

    def _items(self) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for item in self._lab.region.money()["items"]:
            key = item["resource"], item["kind"]
            found[key] = found.get(key, 0.0) + item["usd"]
        return found

    def _is_foreign(self, volume_id: str) -> bool:
        volume = self._lab.region._tables.volumes.get(volume_id)
        is_copy = self._outside.is_copy(volume_id)
        return volume is not None and (is_copy or "rewarm:restore-id" not in volume.tags)


def _is_drill(row: Json) -> bool:
    return bool((row["request"].get("drill") or {}).get("runbook"))
