"""Puts a volume back to a snapshot by writing just the blocks that differ.

States: Rewind.

- evidence: the snapshot of the volume as it was, which undoes the rewind
- writer: the agent that takes the volume, waits for the packs, and writes them
"""
