"""What the EBS volume types allow (EBS user guide, "Amazon EBS volume types"; limits since late 2025)."""

from __future__ import annotations

RESERVED_TAG_PREFIXES = ("aws:", "rewarm:")
"""EC2 user guide, "Tag restrictions": `aws:` is AWS's own; `rewarm:` is ours."""
