"""The words of every message."""
