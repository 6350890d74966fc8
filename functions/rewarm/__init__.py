"""An EBS snapshot becomes a volume at full speed, at the lowest price that meets the deadline, with proof."""

__version__ = "0.1.0"
"""Of the release, as in pyproject.toml."""
