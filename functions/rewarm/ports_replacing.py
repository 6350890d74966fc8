"""What replacing a volume needs from the world, beside the ports of aws/ports.py.

Every method may raise ThrottledError, ServiceUnavailableError, AccessDeniedError and RequestRefusedError;
further errors are named at the method.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from rewarm.domain.model import Volume


class ReplacedVolumes(Protocol):
    """Volumes whose place another one takes, or has taken."""

    def product_codes(self, volume_id: str) -> list[str]:
        """Those of AWS Marketplace. Raises VolumeNotFoundError."""

    def set_delete_on_termination(self, instance_id: str, device: str, *, delete: bool) -> None:
        """Of the volume that is attached there."""

    def untag(self, volume_id: str, keys: Collection[str]) -> None:
        """All of them in one call. Does nothing where the volume or the tags are gone."""

    def replaced_by(self, restore_id: str) -> list[Volume]:
        """Volumes that are out of their place for this restore."""

    def replaced(self, stack_name: str) -> list[Volume]:
        """Those of all restores of the stack that may have to go back."""
