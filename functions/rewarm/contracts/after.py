"""What runs on the instance after the volumes are there, until the application is back."""

import re
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr, field_validator
from pydantic_core import PydanticCustomError

from rewarm.contracts.base import Contract, Instant

MOST_MOUNTS = 10
MOST_PARAMETERS = 20
MOST_VALUES = 10
"""Values of one parameter. The request is in the payload of every state, which holds 256 KiB."""
LINUX_PATH = r"^(/[A-Za-z0-9._-]+)+$"
"""The SSM document takes no other characters."""
OPTIONS = r"^[a-z0-9_-]+(=[A-Za-z0-9_.:/@+-]+)?(,[a-z0-9_-]+(=[A-Za-z0-9_.:/@+-]+)?)*$"
_NUMBER, _SIZE = r"[0-9]{1,9}", r"[0-9]{1,9}[kmg]?"
_SECONDS = r"[0-9]{1,3}"
_COMPRESSION = r"(no|lzo|(zlib|zstd)(:[0-9]{1,9})?)"
_FOLDER = r"(?!.*\.\.)[A-Za-z0-9@_.+/-]+"
_FLAGS = (
    "ro|rw|atime|noatime|relatime|strictatime|diratime|nodiratime|lazytime|nolazytime|noexec|nosuid|nodev|"
    "nosymfollow|sync|async|dirsync|discard|nodiscard|"  # those of every file system
    "nodelalloc|inode64|largeio|nouuid|swalloc|wsync|autodefrag|noautodefrag|flushoncommit|ssd|nossd"
)
_VALUES = {
    "commit": _SECONDS,
    "data": "(ordered|journal)",
    "errors": "remount-ro",
    "stripe": _NUMBER,
    "allocsize": _SIZE,
    "logbsize": _SIZE,
    "logbufs": _NUMBER,
    "sunit": _NUMBER,
    "swidth": _NUMBER,
    "compress": _COMPRESSION,
    "compress-force": _COMPRESSION,
    "discard": "(async|sync)",
    "space_cache": "v2",
    "subvol": _FOLDER,
    "subvolid": _NUMBER,
    "thread_pool": _NUMBER,
}
_OPTION = re.compile("|".join([_FLAGS, *(f"{name}={value}" for name, value in _VALUES.items())]))
"""An option of mount(8) that a request may give for a volume that an instance mounts as root.

None gives rights, weakens a check, can stop the kernel, or lets another program or device take part. Sources
are mount(8), ext4(5), xfs(5) and btrfs(5). The agent has the list for each kind of file system, and checks it
again (warmer/src/mount/mount_options.c); it takes fstab's options as they are.
"""
LONGEST_OPTION = 127
"""Characters of one option; the agent keeps no more."""
MOUNT_OPTIONS = (
    "ro, rw, atime, noatime, relatime, strictatime, diratime, nodiratime, lazytime, nolazytime, noexec, "
    "nosuid, nodev, nosymfollow, sync, async, dirsync, discard and nodiscard; of ext4 commit=, "
    "data=ordered, data=journal, errors=remount-ro, stripe= and nodelalloc; of XFS allocsize=, inode64, "
    "largeio, logbsize=, logbufs=, nouuid, sunit=, swidth=, swalloc and wsync; of btrfs autodefrag, "
    "commit=, compress=, compress-force=, discard=, flushoncommit, noautodefrag, space_cache=v2, ssd, "
    "nossd, subvol=, subvolid= and thread_pool="
)
"""The list for people, word for word the agent's."""
ON_THE_INSTANCE = r"^https?://(127\.0\.0\.1|localhost)(:[1-9][0-9]{0,4})?(/[A-Za-z0-9._~/?&=%+,-]*)?$"
"""Only the instance itself is asked, and not its metadata or anything in its network."""
NO_REFERENCE = r"^([^{]|\{[^{])*\{?$"
"""Systems Manager replaces {{ssm:NAME}} by a parameter's value."""
CHECK_NAME, CHECK_ARGUMENT = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", r"^[A-Za-z0-9._:/=@,+-]{1,100}$"

Seconds = Annotated[StrictInt, Field(ge=10, le=3_600)]


def refused_option(options: str) -> str | None:
    """The first option, with commas between them, that no request may give; None if all may be given."""
    for option in options.split(","):
        if len(option) > LONGEST_OPTION or not _OPTION.fullmatch(option):
            return option
    return None


class Mount(Contract):
    """A volume and the folder at which the instance mounts it."""

    device: StrictStr | None = Field(
        default=None, description="The volume at this device name of the instance; needed of several volumes."
    )
    path: Annotated[StrictStr, Field(pattern=LINUX_PATH, max_length=200)] | None = Field(
        default=None,
        description="Default: the folder that the instance's fstab names for the file system. Without a line "
        "in fstab: an empty folder, or a new one, below /data, /media, /mnt or /srv.",
    )
    options: Annotated[StrictStr, Field(pattern=OPTIONS, max_length=200)] | None = Field(
        default=None,
        description=f"Allowed are {MOUNT_OPTIONS}. Fstab's come after these, may be any, "
        "and win. nosuid and nodev are added unless fstab has suid or dev, and to ext2, ext3 and ext4 "
        "errors=remount-ro unless fstab says what else happens on errors.",
    )
    time_limit_seconds: Seconds = 120

    @field_validator("options")
    @classmethod
    def _is_allowed(cls, options: str | None) -> str | None:
        if options and refused_option(options) is not None:
            context = {"options": MOUNT_OPTIONS}
            raise PydanticCustomError("mount_option", "not known to be safe", context)
        return options

    @property
    def title(self) -> str:
        """For people."""
        return f"mount {self.path or self.device or 'the volume'}"


class HookDocument(Contract):
    """A command document of yours in Systems Manager, with the tag rewarm:hooks: its value is the stack."""

    name: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_.-]{3,128}$")]
    version: Annotated[StrictStr, Field(pattern=r"^(\$DEFAULT|[1-9][0-9]{0,5})$")] = Field(
        default="$DEFAULT",
        description="What this names when the restore begins is sent: the default version of the document, "
        "or one that its tag rewarm:hook-versions names.",
    )
    parameters: Annotated[
        dict[
            Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_]{1,64}$")],
            Annotated[
                list[Annotated[StrictStr, Field(max_length=2_000, pattern=NO_REFERENCE)]],
                Field(min_length=1, max_length=MOST_VALUES),
            ],
        ],
        Field(max_length=MOST_PARAMETERS),
    ] = Field(default_factory=dict)
    time_limit_seconds: Annotated[StrictInt, Field(ge=10, le=43_200)] = Field(
        default=600, description="Then the command is cancelled."
    )
    may_run_twice: StrictBool = Field(
        default=False,
        description="Whether it is sent again where nobody can know if it was sent. Default: it is not, and "
        "the restore says so.",
    )

    @property
    def title(self) -> str:
        """For people."""
        return f"document {self.name}"


class HealthCheck(Contract):
    """How the instance finds out whether the application is back."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": [name], "properties": {name: {"not": {"type": "null"}}}}
                for name in ("url", "command")
            ]
        }
    )

    url: Annotated[StrictStr, Field(pattern=ON_THE_INSTANCE, max_length=500)] | None = Field(
        default=None,
        description="An address of the instance itself, at 127.0.0.1 or localhost. Its answer must have a "
        "status from 200 to 399.",
    )
    command: Annotated[list[StrictStr], Field(min_length=1, max_length=10)] | None = Field(
        default=None,
        description="The name of a program in /etc/rewarm/checks on the instance, and its arguments. Its "
        "exit status must be 0.",
    )
    within_seconds: Seconds = Field(default=300, description="It is tried every five seconds for so long.")

    @property
    def title(self) -> str:
        """For people."""
        return "health check"


class After(Contract):
    """What brings the application back: first the mounts, then the document, then the health check."""

    when: Literal["attached", "ready"] = Field(
        default="ready",
        description="ready: once all volumes are at full speed. attached: once all are attached; the last "
        "one is warmed up only afterwards.",
    )
    mounts: Annotated[list[Mount], Field(max_length=MOST_MOUNTS)] = Field(default_factory=list)
    document: HookDocument | None = None
    health_check: HealthCheck | None = None

    @property
    def limits(self) -> list[tuple[str, int]]:
        """Title and time limit of each part, in order."""
        parts = [(mount.title, mount.time_limit_seconds) for mount in self.mounts]
        if self.document is not None:
            parts.append((self.document.title, self.document.time_limit_seconds))
        if self.health_check is not None:
            parts.append((self.health_check.title, self.health_check.within_seconds))
        return parts


PartState = Literal["waiting", "sending", "running", "done", "failed", "unknown"]


class HookPart(Contract):
    """One part of it, and what became of it."""

    model_config = ConfigDict(extra="ignore")

    title: str
    limit_seconds: int
    state: PartState = Field(
        default="waiting", description="sending: it is about to be sent. unknown: nobody can know if it was."
    )
    since: Instant | None = Field(default=None, description="When it was about to be sent.")
    until: Instant | None = Field(default=None, description="Later than this it was not sent.")
    away_since: Instant | None = Field(
        default=None, description="Since when its instance has been found out of reach; null once it is sent."
    )
    command_id: str | None = None
    ended_at: Instant | None = None
    output: str = Field(default="", description="The end of what it printed.")
    reason: str = Field(default="", description="Why it failed.")
    at_end: bool = Field(default=False, description="Of a drill: it runs however the others ended.")

    @property
    def is_open(self) -> bool:
        """Whether anything of it is still to come."""
        return self.state in {"waiting", "sending", "running"}


ApplicationState = Literal["running", "back", "failed", "unknown"]


class Application(Contract):
    """Whether the application is back, and part by part how that went."""

    model_config = ConfigDict(extra="ignore")

    state: ApplicationState = Field(
        description="unknown: nobody can know whether a part has run, and it may not run twice."
    )
    index: int = Field(description="The volume whose execution runs the parts.")
    instance_id: str
    started_at: Instant
    finished_at: Instant | None = None
    parts: list[HookPart]
    reason: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return self.state != "running"

    @property
    def next_part(self) -> int | None:
        """The one that is to be sent or looked at: after a failure only those of the end."""
        is_bad = any(part.state in {"failed", "unknown"} for part in self.parts if not part.at_end)
        due = [place for place, part in enumerate(self.parts) if part.is_open and (part.at_end or not is_bad)]
        return due[0] if due else None

    @property
    def back_at(self) -> Instant | None:
        """When it was back; None if it is not."""
        ends = [part.ended_at for part in self.parts if part.ended_at and not part.at_end]
        return max(ends, default=self.finished_at) if self.state == "back" else None
