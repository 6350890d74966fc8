"""The fault matrix, second part: what befalls the agent, its instance and its device while it works."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from local.aws.machines.dataplane import DataPlaneError
from local.aws.region import ApiError
from local.soak.audit.auditor import Auditor
from local.soak.lab.endings import Ending
from local.soak.lab.instances.agent import Trouble
from local.soak.lab.instances.applying import APPLY, EXITS
from local.soak.lab.instances.hook import DOCUMENT, HOOK
from local.soak.lab.lab import FastLab
from local.soak.trouble.attacker import YEAR_SECONDS
from local.soak.trouble.matrix import SEED, SETTLED_SECONDS, SWEPT_SECONDS, Result
from local.soak.trouble.paths.fleet_paths import PATHS
from local.soak.trouble.paths.hook_paths import CHANGES, NAME

Act = Callable[[FastLab, str, str], None]
AGENT_KINDS = ("killed", "unreadable", "disk-full", "no-download", "no-progress", "wrong-sha256", "hangs")
COMMANDS = (
    ("warm-up", "warm", "warm-up-agent"),
    ("measurement before", "verify", "provisioned-rate"),
    ("measurement after", "verify", "warm-up-agent"),
)
"""What it does, its action, and the path on which it is the first of its action."""
HOOKS = (("document", DOCUMENT, "application"), ("mount", HOOK, "application"))
HOOK_KINDS = ("killed", "hangs", "long-output")
RESTARTS = frozenset({"instance rebooted", "instance stopped"})
"""After these the SSM agent itself runs a document again (amazon-ssm-agent, processor.go)."""
WRITING = ("writing", APPLY, "rewind")
RECORDING = ("recording", "observe", "hot-set")
"""Whatever becomes of it, the restore does not notice."""
UNHEARD = "unheard"
"""The agent has read everything and says so in the bucket; Run Command never shows that it has ended."""
FORGED = "1" + 400 * "0"
FORGED_NAMES = frozenset({"bytesDone", "bytesTotal", "mibPerSecond", "etaSeconds"})
REASONS = frozenset(
    {
        "AgentFailedError",
        "AgentInterruptedError",
        "AgentUnreachableError",
        "InitializationStalledError",
        "InstanceAwayError",
        "TargetNotFoundError",
        "TargetNotUsableError",
        "VolumeNotFoundError",
        "VolumeFailedError",
        "VolumeUnreadableError",
        "RequestRefusedError",
        "RewindIncompleteError",
        "VolumeInUseError",
    }
)
"""Where the agent or its instance is to blame, the restore says so."""


def _call(operation: str) -> Act:
    def act(lab: FastLab, instance_id: str, _volume_id: str) -> None:
        lab.region.call("ec2", operation, {"InstanceIds": [instance_id]})

    return act


def _detach(lab: FastLab, _instance_id: str, volume_id: str) -> None:
    lab.region.call("ec2", "DetachVolume", {"VolumeId": volume_id})


def _delete(lab: FastLab, instance_id: str, volume_id: str) -> None:
    _detach(lab, instance_id, volume_id)

    def delete() -> None:
        # The restore may have noticed, and removed or attached it meanwhile.
        with suppress(ApiError):
            lab.region.call("ec2", "DeleteVolume", {"VolumeId": volume_id})

    lab.scheduler.after(60, delete)


def _rename(lab: FastLab, instance_id: str, volume_id: str) -> None:
    """Another name under /dev; the link by the serial number, which the agent opens, is the same."""
    try:
        lab.data_plane.volume(volume_id).attached_to[instance_id] = "/dev/nvme7n1"
    except DataPlaneError:
        return


def _silent(lab: FastLab, instance_id: str, _volume_id: str) -> None:
    lab.region.change_instance(instance_id, reachable=False)
    lab.outside.silent.add(instance_id)


def _tag_others(lab: FastLab, _instance_id: str, volume_id: str) -> None:
    """A year-old volume and its backup get all tags of the volume that is being warmed up."""
    now = lab.region.now() - YEAR_SECONDS
    theirs = lab.region.add_volume(size_gib=100, create_time=now)
    backup = lab.region.add_snapshot(size_gib=100, extents=((0, 8),), volume_id=theirs, start_time=now)
    (ours,) = lab.region.call("ec2", "DescribeVolumes", {"VolumeIds": [volume_id]})["Volumes"]
    lab.region.call("ec2", "CreateTags", {"Resources": [theirs, backup], "Tags": ours["Tags"]})
    lab.outside.others.update((theirs, backup))


def _forge(lab: FastLab, _instance_id: str, _volume_id: str) -> None:
    """Whoever has the address of the progress object writes numbers that no float holds."""
    store = lab.data_plane.store
    put = store.put

    def forged(url: str, body: bytes) -> None:
        account = json.loads(body)
        numbers = dict.fromkeys(account.keys() & FORGED_NAMES, FORGED)
        put(url, json.dumps({**account, **numbers}).replace(f'"{FORGED}"', FORGED).encode())

    store.put = forged  # type: ignore[method-assign]


ACTS: dict[str, Act] = {
    "instance rebooted": _call("RebootInstances"),
    "instance stopped": _call("StopInstances"),
    "instance terminated": _call("TerminateInstances"),
    "instance silent": _silent,
    "device renamed": _rename,
    "volume detached": _detach,
    "volume deleted": _delete,
}
ATTACKS: dict[str, Act] = {
    "a volume and a backup of others get its tags": _tag_others,
    "its progress object is forged": _forge,
}


def _by_owner(change: str) -> Act:
    return lambda lab, _instance, _volume: CHANGES[change](lab, NAME)


OWNERS = {f"it is {change}": _by_owner(change) for change in CHANGES}
"""What the owner of the document does to it while the volume is warmed up."""


@dataclass(frozen=True, slots=True)
class MachineRow:
    """One trouble of one command."""

    name: str
    what: str
    action: str
    path: str
    at_share: float = 0.5

    def __str__(self) -> str:
        """For people."""
        return f"{self.what}, {self.name} at {self.at_share:.0%}"


def machine_rows() -> list[MachineRow]:
    """Every trouble of every command; what happens to the machine, early and late in the warm-up."""
    found = [MachineRow(kind, *command) for kind in AGENT_KINDS for command in COMMANDS]
    found += [MachineRow(kind, *WRITING, share) for kind in (*EXITS, "hangs") for share in (0.1, 0.9)]
    found += [MachineRow(kind, *RECORDING) for kind in AGENT_KINDS]
    found.append(MachineRow(UNHEARD, *COMMANDS[0]))
    # A drill deletes what it has made, so it looks for that.
    found += [MachineRow(name, "warm-up of a drill", "warm", "drill") for name in ATTACKS]
    # The volumes are announced by then, so they are their owner's to delete.
    gone = [name for name in ACTS if name.startswith("instance")]
    found += [MachineRow(name, *hook) for name in (*HOOK_KINDS, *gone) for hook in HOOKS]
    found += [MachineRow(name, "document", "warm", "application") for name in OWNERS]
    return found + [MachineRow(name, *COMMANDS[0], share) for name in ACTS for share in (0.1, 0.9)]


def play_machine(row: MachineRow) -> Result:
    """The row's path with its trouble."""
    with FastLab(SEED) as lab:
        act = (ACTS | ATTACKS | OWNERS).get(row.name)
        trouble = Trouble(row.name, row.action, row.at_share)
        if act is not None:
            trouble.kind, trouble.call = "call", lambda *names: act(lab, *names)
        lab.data_plane.troubles.append(trouble)
        ending = PATHS[row.path].play(lab)
        lab.pass_time(SETTLED_SECONDS)
        result = Result(ending, int(trouble.met))
        result.left = Auditor(lab).findings(ending)
        if result.left:
            lab.pass_time(SWEPT_SECONDS)
            result.left_after_sweeps = Auditor(lab).findings(ending)
        result.left_after_sweeps += [f"{name} of others is gone" for name in _gone(lab)]
        began = lab.data_plane.applications.documents
        if row.name not in RESTARTS and max(began.values(), default=0) > 1:
            result.left_after_sweeps.append(f"the user's document began {dict(began)} times")
        return result


def _gone(lab: FastLab) -> list[str]:
    tables = lab.region._tables
    return sorted(lab.outside.others - {*tables.volumes, *tables.snapshots, *tables.instances})


def machine_complaints(row: MachineRow, result: Result) -> list[str]:
    """What is wrong with the way the row ended."""
    found = [] if result.met else ["the trouble was never met"]
    found += [f"left for ever: {left_after_sweep}" for left_after_sweep in result.left_after_sweeps]
    return found + _of_ending(row, result.ending)


def _of_ending(row: MachineRow, ending: Ending) -> list[str]:
    if ending.kind == "ready":
        return []
    is_excused = row.name != UNHEARD and row.action != RECORDING[1]
    if ending.status == "failed" and ending.error in REASONS and is_excused:
        return []
    return [f"{row.name}: ended {ending.kind}: {ending.cause[:300]}"]
