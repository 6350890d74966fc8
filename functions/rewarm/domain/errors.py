"""Every way a restore can fail, by name.

Lambda reports an exception to Step Functions as its bare class name, without module or inheritance. So
`Retry` and `Catch` in statemachine/ list these names. They are flat and unique.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime


class RestoreError(Exception):
    """Base for Python's sake; never raised itself."""

    def __init__(self, message: str, *, field: str | None = None) -> None:
        """`message` is for people; `field` names the field of the request that is at fault, if one is."""
        super().__init__(f"{field}: {message}" if field else message)
        self.field = field


# Retry: AWS is busy.
class ThrottledError(RestoreError):
    """AWS asked us to slow down."""


class ServiceUnavailableError(RestoreError):
    """AWS failed on its side, or did not answer in time."""


TEMPORARY = (ThrottledError, ServiceUnavailableError)
"""A later try may succeed; nothing is known meanwhile."""


# Another strategy may do.
class CapacityUnavailableError(RestoreError):
    """EC2 has no capacity for such a volume in the Availability Zone now."""


class InitializationRateUnavailableError(RestoreError):
    """The Region cannot supply the provisioned initialization rate (quota or capacity)."""


class BlocksUnavailableError(RestoreError):
    """The blocks of the snapshot could not be copied to the bucket."""


class VolumeCopyUnavailableError(RestoreError):
    """The source volume cannot be copied now: it is gone, elsewhere, or a quota of copies is used up."""


class BoostUnavailableError(RestoreError):
    """EC2 gives no volume with the performance of the boost (quota, or limits of the Region)."""


class ModificationPostponedError(RestoreError):
    """EC2 accepts no change of the volume yet: one is under way, or four were made within a day."""

    def __init__(self, message: str, *, field: str | None = None, retry_at: datetime | None = None) -> None:
        """`retry_at` is when the next change is free, where that is known."""
        super().__init__(message, field=field)
        self.retry_at = retry_at


class ModificationFailedError(RestoreError):
    """EC2 took a change of a volume and gave it up; the settings are as they were."""


class FastSnapshotRestoreUnavailableError(RestoreError):
    """Fast snapshot restore could not be enabled, or gave no benefit to the volume."""


class AgentUnreachableError(RestoreError):
    """The command never reached the instance."""


class InstanceAwayError(RestoreError):
    """No command reaches the instance now; it may come back, as after a reboot, so the state is retried."""


class AgentInterruptedError(RestoreError):
    """The warm-up agent was ended before it had finished; the next one continues where it stopped."""


class InitializationStalledError(RestoreError):
    """Initialization makes no progress any more."""


# The restore stops.
class InvalidRequestError(RestoreError):
    """The request is not one we accept; the message names the field and what is allowed."""

    def __init__(
        self, message: str, *, field: str | None = None, faults: Collection[tuple[str, str]] = ()
    ) -> None:
        """`faults` has each wrong field with what is wrong with it, where there are several."""
        super().__init__(message, field=field)
        self.faults = tuple(faults)


class PartLeftOutError(RestoreError):
    """The stack was deployed without what the request needs; the message names the parameter."""


class FleetNotFoundError(RestoreError):
    """There is no fleet of this id."""


class FleetBusyError(RestoreError):
    """Restores of the fleet still run, so nothing can be restored again yet."""


class RunbookNotFoundError(RestoreError):
    """An alarm fired, and no runbook says what to restore for it."""


class RuleNotFoundError(RestoreError):
    """There is no rule of this name."""


class SnapshotNotFoundError(RestoreError):
    """No snapshot fits the request's source."""


class SnapshotNotUsableError(RestoreError):
    """The snapshot is pending, in error, archived or out of reach."""


class BlockTokenError(RestoreError):
    """EBS no longer accepts the token of a block, or the snapshot lacks the block."""


class BlockDamagedError(RestoreError):
    """A block of a snapshot came several times with bytes of another SHA-256; the message names it."""


class ShardFailedError(RestoreError):
    """Blocks of a snapshot could not be copied; the message names them, and why."""


class PartMissingError(RestoreError):
    """Parts of a manifest are not in the bucket yet, and the execution was redriven to make them."""


class TargetNotFoundError(RestoreError):
    """The instance or Availability Zone of the target does not exist."""


class TargetNotUsableError(RestoreError):
    """The instance cannot take the volume: state, Availability Zone or no SSM agent."""


class NotAttachedError(RestoreError):
    """Nobody has attached the volume to an instance that is online, within the time of the request."""


class DeviceInUseError(RestoreError):
    """Another volume is attached under the device name asked for."""


class TargetBusyError(RestoreError):
    """Another restore works on the device asked for; the message names it."""

    def __init__(self, message: str, *, field: str | None = None, held_by: str | None = None) -> None:
        """`held_by` is the restore that came first."""
        super().__init__(message, field=field)
        self.held_by = held_by


class TooManyRestoresError(RestoreError):
    """As many restores run already, on the instance or in the stack, as the stack's parameters allow."""

    def __init__(self, message: str, *, field: str | None = None, running: Collection[str] = ()) -> None:
        """`running` are those restores."""
        super().__init__(message, field=field)
        self.running = tuple(running)


class VolumeInUseError(RestoreError):
    """The volume to be replaced is mounted, or something else on its instance uses it."""


class InstanceNotUpError(RestoreError):
    """The instance was not started with its new volumes, does not come up, or fails its status checks."""


class NoStrategyFitsError(RestoreError):
    """The request is strict, and no strategy meets its deadline and budget."""


class QuotaExceededError(RestoreError):
    """A service quota of the account is used up."""


class AccessDeniedError(RestoreError):
    """A permission is missing; the message names the call."""


class RequestRefusedError(RestoreError):
    """AWS refused a call for a reason that trying again cannot mend."""


class VolumeNotFoundError(RestoreError):
    """The volume is not there (any more)."""


class RewindIncompleteError(RestoreError):
    """A rewind ended after its first write: the volume has blocks of two times."""


class VolumeFailedError(RestoreError):
    """The volume went into the state `error`, or to another owner."""


class AgentFailedError(RestoreError):
    """The warm-up agent ran and could not read everything."""


class VolumeUnreadableError(RestoreError):
    """The volume has blocks that cannot be read, whoever tries."""


class VolumeNotFastError(RestoreError):
    """The volume was measured after initialization and is still slow."""


class BenchmarkFailedError(RestoreError):
    """A benchmark gave no figures; the message says why."""


class BenchmarkNotFoundError(RestoreError):
    """No benchmark has this id."""


class HotSetNotFoundError(RestoreError):
    """Nothing is recorded under this name, or it is deleted."""


class UndoLogNotFoundError(RestoreError):
    """A restore has no undo log, or it is deleted."""


class UndoLogInUseError(RestoreError):
    """A restore that runs may need the undo log, so it is not deleted."""


class RestoreCancelledError(RestoreError):
    """Somebody cancelled the restore."""


class RestoreEndedError(RestoreError):
    """The restore is ready or has failed: there is nothing left to cancel or approve."""


class NotAwaitingApprovalError(RestoreError):
    """The restore does not wait for an approval, or no longer for the one that was meant."""


class AlreadyStoredError(RestoreError):
    """Another runbook or rule is stored under this name, and its writer has not seen it."""

    def __init__(self, message: str, *, stored: object, wanted: object, version: str) -> None:
        """`version` names what is stored; it and what is wanted are JSON objects with all fields."""
        super().__init__(message)
        self.stored = stored
        self.wanted = wanted
        self.version = version


class ApprovalTimedOutError(RestoreError):
    """Nobody approved the restore in time; nothing was made for it."""


class RestoreNotFoundError(RestoreError):
    """No restore has this id."""


class IncompleteCleanUpError(RestoreError):
    """Something that costs money could not be removed; the message lists it."""
