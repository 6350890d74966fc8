"""EC2 instances as Linux namespaces: own /dev/disk, own processes, commands that really run."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from local.aws.machines.dataplane import DataPlaneError
from local.aws.machines.linux import ProcessIdentity

BY_ID = "nvme-Amazon_Elastic_Block_Store_"
"""Name of an EBS volume's link in /dev/disk/by-id, up to the serial number (EC2 user guide: EBS and NVMe)."""
COMMAND_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
COMMAND_MARK = "INSTANCE_COMMAND_ID"
STOP_TIMEOUT_SECONDS = 30.0
ROOT_DISK = "root-disk"
"""What the instance has in /var/lib/rewarm; as an EBS root volume does, it outlives reboots and stops."""

# Process 1 of the instance. Orphans become its children: with SIGCHLD ignored the kernel buries them. It ends
# when its standard input does, that is with the process that holds the other end; the kernel kills the rest.
# Devices are those of this machine, so the agent must see all processes of it that may have one open.
_BOOT = """
set -e
mount -t tmpfs -o mode=755,size=1m instance-disks /dev/disk
mkdir /dev/disk/by-id /dev/disk/processes
mount --bind /proc /dev/disk/processes
mount -t proc proc /proc
mount --bind "$1" /var/lib/rewarm
echo ready
exec env --ignore-signal=CHLD cat >/dev/null
"""


def link_names(volume_id: str) -> tuple[str, str]:
    """A volume's names in /dev/disk/by-id: the serial number is the volume id without its dash.

    Newer systemd also links the namespace, as `_1` (systemd's 60-persistent-storage.rules).
    """
    name = BY_ID + volume_id.replace("-", "", 1)
    return name, f"{name}_1"


class Command:
    """A shell script that runs, or ran, on an instance."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str], mark: str) -> None:
        self._folder = folder
        self._mark = f"{COMMAND_MARK}={mark}".encode()
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            self._process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """The exit status, None while it runs, -1 where a signal ended it, as the SSM agent counts."""
        status = self._process.poll()
        return status if status is None or status >= 0 else -1

    def cancel(self) -> None:
        """Kill the command, what it started, and what of that has left its session."""
        for _ in range(10):
            if self._process.poll() is None:
                os.killpg(self._process.pid, signal.SIGKILL)
            strays = list(self._strays())
            for stray in strays:
                stray.kill(wait_seconds=0.2)
            if not strays:
                break
        self.wait(STOP_TIMEOUT_SECONDS)

    def wait(self, timeout_seconds: float) -> int | None:
        """The exit status as soon as there is one; None when the time is over."""
        try:
            self._process.wait(timeout=timeout_seconds)
        except subprocess.TimeoutExpired:
            return None
        return self.poll()

    def output(self) -> tuple[str, str]:
        """Standard output and standard error so far."""
        out, err = ((self._folder / name).read_bytes() for name in ("stdout", "stderr"))
        return out.decode(errors="replace"), err.decode(errors="replace")

    def _strays(self) -> Iterator[ProcessIdentity]:
        """Living processes that inherited this command's mark in their environment."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                identity = ProcessIdentity.of(int(entry.name))
                if self._mark in (entry / "environ").read_bytes().split(b"\0"):
                    yield identity
            except OSError:  # ended meanwhile
                continue


class Instance:
    """A running instance."""

    def __init__(self, instance_id: str, folder: Path, *, nvme: bool = True) -> None:
        self.instance_id = instance_id
        self._nvme = nvme
        self._folder = folder
        self._commands: list[Command] = []
        for name in ("home", "tmp", "commands", ROOT_DISK):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._holder = self._boot()

    def _boot(self) -> subprocess.Popen[bytes]:
        unshare = ["unshare", "--mount", "--pid", "--propagation", "slave", "--fork", "--kill-child=KILL"]
        boot = ["sh", "-c", _BOOT, "boot", str(self._folder / ROOT_DISK)]
        log = self._folder / "boot.log"
        try:
            with log.open("wb") as err:
                holder = subprocess.Popen(
                    [*unshare, *boot], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                    start_new_session=True,
                )  # fmt: skip
        except FileNotFoundError as error:
            raise DataPlaneError("instances need the program unshare (util-linux)") from error
        assert holder.stdout is not None
        ready = holder.stdout.readline()
        holder.stdout.close()
        if ready != b"ready\n":
            holder.kill()
            holder.wait()
            raise DataPlaneError(
                f"instance {self.instance_id} cannot start: it needs root with CAP_SYS_ADMIN, to make mount "
                f"and PID namespaces and to mount on /dev/disk: {log.read_text(errors='replace').strip()}"
            )
        ProcessIdentity.of(holder.pid).write(self._folder / "holder.pid")
        return holder

    def link(self, volume_id: str, target: str) -> None:
        """Show a volume in /dev/disk/by-id."""
        self._require_alive()
        for name in link_names(volume_id) if self._nvme else ():
            link = self._by_id / name
            link.unlink(missing_ok=True)
            link.symlink_to(target.replace("/dev/", "../../", 1) if target.startswith("/dev/") else target)

    def unlink(self, volume_id: str) -> None:
        """Take a volume's links away."""
        if self._holder.poll() is not None:
            return
        for name in link_names(volume_id):
            (self._by_id / name).unlink(missing_ok=True)

    def has_mounted(self, target: str) -> bool:
        """The instance has a file system of this block device mounted; of a plain file nobody can tell."""
        if not target.startswith("/dev/") or self._holder.poll() is not None:
            return False
        device = Path(target).stat().st_rdev
        number = f"{os.major(device)}:{os.minor(device)}"
        mounts = Path(f"/proc/{self._holder.pid}/mountinfo").read_text().splitlines()
        return any(line.split(" ")[2] == number for line in mounts)

    def run(self, script: str, environment: dict[str, str]) -> Command:
        """Start a shell script in the instance; it sees nothing of this process's environment."""
        self._require_alive()
        mark = uuid.uuid4().hex
        folder = self._folder / "commands" / mark
        folder.mkdir()
        (folder / "script.sh").write_text(script)
        namespaces = f"/proc/{self._holder.pid}/ns"
        enter = ["nsenter", f"--mount={namespaces}/mnt", f"--pid={namespaces}/pid_for_children", "--"]
        shell = ["sh", "-c", f"cd {shlex.quote(str(folder))} && exec sh ./script.sh"]
        try:
            command = Command(enter + shell, folder, self._environment(environment, mark), mark)
        except (OSError, ValueError) as error:  # an environment that is too large, or holds a zero byte
            raise DataPlaneError(f"the command cannot start on {self.instance_id}: {error}") from error
        self._commands = [known for known in self._commands if known.poll() is None] + [command]
        return command

    def begin_stop(self) -> None:
        """Kill everything in the instance, without waiting for processes that hang in the kernel."""
        if self._holder.stdin is not None:
            self._holder.stdin.close()

    def stop(self) -> None:
        """Kill everything in the instance; returns when it is gone. Safe to call again."""
        self.begin_stop()
        try:
            self._holder.wait(timeout=STOP_TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            self._holder.kill()
            self._holder.wait()
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for command in self._commands:
            command.wait(max(0.0, deadline - time.monotonic()))
        (self._folder / "holder.pid").unlink(missing_ok=True)

    def _require_alive(self) -> None:
        if self._holder.poll() is not None:
            raise DataPlaneError(f"instance {self.instance_id} has ended")

    @property
    def _by_id(self) -> Path:
        return Path(f"/proc/{self._holder.pid}/root/dev/disk/by-id")

    def _environment(self, wanted: dict[str, str], mark: str) -> dict[str, str]:
        own = {"PATH": COMMAND_PATH, "LANG": "C.UTF-8", "HOME": str(self._folder / "home")}
        own["TMPDIR"] = str(self._folder / "tmp")
        return own | wanted | {COMMAND_MARK: mark}
